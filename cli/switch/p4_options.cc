// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/p4_options.h"

namespace infold::cli {

void P4Options::declare(Options& options) {
  options.address("--p4runtime", device, device_at,
                  "Address of the device's P4Runtime server, HOST:PORT; needs --plane p4");
  options.choice("--target", target, {"bmv2", "tofino"},
                 "Which program the device runs: that for BMv2, or that for Tofino; needs --plane "
                 "p4");
  options.path("--program", program,
               "Folder with infold.p4info.bin, and infold.json for BMv2 or infold.bin for Tofino; "
               "needs --plane p4",
               "FOLDER");
  options.text_list("--ports", ports,
                    "Ports of the device that lead to stations, numbers with commas between; needs "
                    "--plane p4");
  options.whole<std::uint32_t>("--device-id", id, {0, 0xFFFFFFFF},
                               "Number of the device at its server; needs --plane p4");
  options.path("--p4-ca", authorities,
               "Certificates in PEM form, one of which has signed that of the P4Runtime server; "
               "turns TLS on; needs --plane p4",
               "FILE");
  options.path("--p4-cert", certificate,
               "Certificate in PEM form to show to the P4Runtime server; needs --p4-ca", "FILE");
  options.path("--p4-key", key, "Key of --p4-cert in PEM form; needs --p4-ca", "FILE");
}

const char* P4Options::find_given() const {
  if (!device.empty()) return "--p4runtime";
  if (target != "bmv2") return "--target";
  if (!program.empty()) return "--program";
  if (!ports.empty()) return "--ports";
  if (id != 0) return "--device-id";
  if (!authorities.empty()) return "--p4-ca";
  if (!certificate.empty()) return "--p4-cert";
  return key.empty() ? nullptr : "--p4-key";
}

}  // namespace infold::cli
