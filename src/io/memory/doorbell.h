// SPDX-License-Identifier: Apache-2.0
//
// Wakes a thread of this or another process. The thread sleeps in poll() on the doorbell's
// descriptor until another thread rings. If the doorbell was rung before, however often, poll()
// returns at once. The descriptor may be passed to another process.
//
// Any thread may call ring(). Only one thread calls silence().
#pragma once

#include "base/result.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

class Doorbell {
 public:
  static base::Result<Doorbell> open();
  // Takes over a doorbell that another process has opened. Refuses any other kind of file, because
  // writing to one might block or raise a signal.
  static base::Result<Doorbell> adopt(FileDescriptor file);

  // Makes a second owner of the same doorbell.
  base::Result<Doorbell> share() const;

  void ring() const;
  void silence() const;  // returns at once even if nobody has rung
  int descriptor() const { return file_.get(); }

 private:
  explicit Doorbell(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace infold::io
