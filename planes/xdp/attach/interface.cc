// SPDX-License-Identifier: Apache-2.0
//
// Uses ioctl, because files below /sys belong to the namespace that mounted /sys.
#include "planes/xdp/attach/interface.h"

#include <cstring>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace infold::xdp {
namespace {

// Asks the kernel about the interface of this name. Returns false if there is no such interface or
// no answer.
bool ask(unsigned long what, ifreq& about, const char* name) {
  std::memcpy(about.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return false;
  const bool answered = ioctl(any, what, &about) == 0;
  close(any);
  return answered;
}

}  // namespace

base::Attempt<Interface> find_interface(const std::string& name) {
  Interface interface;
  interface.name = name;
  interface.index = name.size() < IFNAMSIZ ? if_nametoindex(name.c_str()) : 0;
  if (interface.index == 0) {
    return base::cannot("there is no interface '" + name + "'; 'ip link' lists those of this host");
  }
  ifreq mtu{};
  if (ask(SIOCGIFMTU, mtu, name.c_str())) interface.mtu = static_cast<std::uint32_t>(mtu.ifr_mtu);
  ifreq driver{};
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  driver.ifr_data = reinterpret_cast<char*>(&info);
  if (ask(SIOCETHTOOL, driver, name.c_str())) interface.driver = info.driver;
  return interface;
}

LinkState state_of(const Interface& interface) {
  char name[IF_NAMESIZE] = {};
  if (if_indextoname(interface.index, name) == nullptr) return LinkState::gone;
  ifreq flags{};
  if (!ask(SIOCGIFFLAGS, flags, name)) return LinkState::gone;
  constexpr int kWorks = IFF_UP | IFF_RUNNING;
  return (flags.ifr_flags & kWorks) == kWorks ? LinkState::up : LinkState::down;
}

}  // namespace infold::xdp
