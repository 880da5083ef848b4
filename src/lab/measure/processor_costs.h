// SPDX-License-Identifier: Apache-2.0
//
// A short measurement of what packets cost this machine's processors, for predict::Processors. It
// runs a switch and ranks as processes over loopback, in chunks of three lengths, without and with
// a switch, and a ring over TCP in this process. Takes some seconds. One thread calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "predict/processors.h"

namespace infold::lab {

// `infold` is the program to run as switch and rank. `begin` is told before each step. Throws
// std::runtime_error with the reason when a step fails, or when the user wants to stop.
predict::Processors measure_processors(const std::filesystem::path& infold,
                                       const std::function<void(std::string_view step)>& begin);

// Processors that this process may run on.
std::uint32_t processor_count();

}  // namespace infold::lab
