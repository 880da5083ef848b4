// SPDX-License-Identifier: Apache-2.0
//
// All backends that have not ended. They leave their jobs when the interpreter ends, because a
// process that ends without leaving looks to the other ranks like one that died.
//
// Any thread may call any method. A forked child begins without its parent's backends.
#pragma once

#include <set>

#include "base/mutex.h"

namespace infold::pytorch {

class Backend;

class Living {
 public:
  static Living& all();
  void add(Backend* backend);
  void remove(Backend* backend);
  // Each backend finishes the calls that have begun, and leaves its job.
  void close();

 private:
  Living();

  base::Mutex mutex_;
  std::set<Backend*> backends_ GUARDED_BY(mutex_);
};

}  // namespace infold::pytorch
