// SPDX-License-Identifier: Apache-2.0
//
// All backends that have not ended. They leave their jobs when the interpreter ends, because a
// process that ends without leaving looks to the other ranks like one that died.
//
// Any thread may call any method.
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
  // Each backend finishes the calls that have begun, and leaves its job. A forked child ends its
  // own backends and not those of its parent.
  void close();

 private:
  base::Mutex mutex_;
  std::set<Backend*> backends_ GUARDED_BY(mutex_);
};

}  // namespace infold::pytorch
