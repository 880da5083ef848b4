// SPDX-License-Identifier: Apache-2.0
//
// What a process group does in a child that was forked from its process, such as a worker of a
// DataLoader. The child has a copy of the group, but not its threads. A lock may be held there for
// ever, and the destructor of a thread, a condition variable or a work of Gloo may wait for ever.
// Calls are therefore refused before they take a lock, and what belongs to threads is never
// destroyed.
#pragma once

#include <utility>

#include <c10/util/Exception.h>

#include "io/host/own_process.h"

namespace infold::pytorch {

// Throws if this is a forked child of the process.
inline void refuse_child(const io::OwnProcess& process) {
  if (process.is_current()) return;
  C10_THROW_ERROR(DistBackendError,
                  c10::str("infold: this process was forked from process ", process.number(),
                           ", which made the process group and alone can use it; make the calls "
                           "there, or start this process without fork (\"spawn\") and make another "
                           "group"));
}

// Keeps the value until the process ends.
template <typename Value>
void keep_for_ever(Value value) {
  static_cast<void>(new Value(std::move(value)));
}

}  // namespace infold::pytorch
