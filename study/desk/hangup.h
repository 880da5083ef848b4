// SPDX-License-Identifier: Apache-2.0
//
// While the notice lives, SIGHUP does not end the process, but asks a daemon to read its settings
// again. A process has at most one notice at a time. Any thread may call.
#pragma once

namespace infold::desk {

class HangupNotice {
 public:
  HangupNotice();
  ~HangupNotice();
  HangupNotice(const HangupNotice&) = delete;
  HangupNotice& operator=(const HangupNotice&) = delete;

  // Returns whether a signal has come since the last call. Several signals may count as one.
  static bool take();

 private:
  void (*before_)(int);
};

}  // namespace infold::desk
