// SPDX-License-Identifier: Apache-2.0
#include "io/address/neighbour_table.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace infold::io {
namespace {

// Reads "02:00:00:00:00:01". The kernel writes zeros for a neighbour that has not answered.
std::optional<std::uint64_t> read_ethernet_address(const std::string& text) {
  constexpr std::size_t kLetters = 17;
  if (text.size() != kLetters) return std::nullopt;
  std::istringstream bytes(text);
  std::uint64_t address = 0;
  unsigned byte = 0;
  char colon = 0;
  for (int i = 0; i < 6; ++i) {
    if (i > 0 && (!(bytes >> colon) || colon != ':')) return std::nullopt;
    if (!(bytes >> std::hex >> byte) || byte > 0xFF) return std::nullopt;
    address = address << 8 | byte;
  }
  if (address == 0) return std::nullopt;
  return address;
}

}  // namespace

std::optional<std::uint64_t> find_ethernet_address(std::string_view table, std::string_view host) {
  std::istringstream lines{std::string(table)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string address, type, flags, ethernet;
    if (!(words >> address >> type >> flags >> ethernet) || address != host) continue;
    if (const auto found = read_ethernet_address(ethernet)) return found;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> find_ethernet_address(const SocketAddress& neighbour) {
  std::ifstream file("/proc/net/arp");
  const std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return find_ethernet_address(table, neighbour.host_text());
}

}  // namespace infold::io
