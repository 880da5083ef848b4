// SPDX-License-Identifier: Apache-2.0
//
// What a thread sleeps at until another one, here or in another process, rings: a descriptor that
// poll() understands and that may be passed on. Rings while nobody sleeps are kept, as one.
//
// Any thread may ring; one silences.
#pragma once

#include "base/result.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

class Doorbell {
 public:
  static base::Result<Doorbell> open();
  // One that another process has opened and passed on; refused if it is something else, since
  // writing to that might block, or raise a signal.
  static base::Result<Doorbell> adopt(FileDescriptor file);

  // A second owner of the same bell.
  base::Result<Doorbell> share() const;

  void ring() const;
  void silence() const;  // returns at once also where it has not rung
  int descriptor() const { return file_.get(); }

 private:
  explicit Doorbell(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace infold::io
