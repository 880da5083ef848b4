// SPDX-License-Identifier: Apache-2.0
//
// A folder for the files of one test. Tests run at the same time, so each folder has its own name.
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

#include "base/check.h"

namespace infold::base {

class TempFolder {
 public:
  TempFolder() {
    std::string form = std::filesystem::temp_directory_path() / "infold-test-XXXXXX";
    CHECK(mkdtemp(form.data()) != nullptr);
    path_ = form;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace infold::base
