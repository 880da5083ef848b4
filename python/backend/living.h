// SPDX-License-Identifier: Apache-2.0
//
// Backends that have not ended, for the interpreter's end: a process that ends without leaving its
// jobs looks to the other ranks like one that died.
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
  // Has them leave, after what has begun.
  void close();

 private:
  std::mutex mutex_;
  std::set<Backend*> backends_;
};

}  // namespace infold::pytorch
