// SPDX-License-Identifier: Apache-2.0
//
// Tells the process that made an object from a child that was forked from it. The child has a copy
// of the object, but not the threads that serve it, and the parent's sockets are open in the child
// as well. A copy must therefore neither be used nor be destroyed: its destructor would wait for
// these threads, or write to these sockets in the parent's name. Any thread may call.
#pragma once

#include <memory>
#include <unistd.h>
#include <utility>

namespace infold::io {

class OwnProcess {
 public:
  // Takes no lock, because another thread of the parent may have held it at the fork.
  bool is_current() const { return getpid() == number_; }
  int number() const { return number_; }

 private:
  int number_ = getpid();
};

// Only the process that calls this destroys the object, so a child keeps its copy until it ends.
template <typename T>
std::shared_ptr<T> owned_by_process(std::unique_ptr<T> object) {
  return {object.release(), [process = OwnProcess()](T* each) {
            if (process.is_current()) delete each;
          }};
}

}  // namespace infold::io
