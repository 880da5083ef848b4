// SPDX-License-Identifier: Apache-2.0
//
// Prints packet events, one per line, as text for people or as JSON for programs. It only observes.
// The caller decides where the lines go.
#pragma once

#include <functional>
#include <string>

#include "study/sim/nodes/wiring.h"

namespace infold::sim {

class Trace final : public Observer {
 public:
  enum class Style : std::uint8_t { text, json };
  using Sink = std::function<void(const std::string& line)>;

  Trace(const Wiring& wiring, Style style, Sink sink);

  void on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
               std::uint64_t hash) override;
  void on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) override;
  void on_drop(base::Instant now, const Path& path, std::span<const std::byte> bytes,
               DropCause cause) override;

 private:
  void write(base::Instant now, const char* what, const Path& path,
             std::span<const std::byte> bytes);

  std::vector<std::string> names_;  // by node
  Style style_;
  Sink sink_;
};

}  // namespace infold::sim
