// SPDX-License-Identifier: Apache-2.0
//
// All backends that have not ended. They leave their jobs when the interpreter ends. To the other
// ranks, a process that ends without leaving looks like one that died.
//
// Any thread may call any method.
#pragma once

#include <mutex>
#include <set>

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
  std::mutex mutex_;
  std::set<Backend*> backends_;
};

}  // namespace infold::pytorch
