// SPDX-License-Identifier: Apache-2.0
//
// A context has what all TLS sessions of a switch, or of a process's ranks, share: TLS 1.3 alone,
// without tickets, early data, compression or certificates of clients. Contexts are immutable; any
// thread may use them.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "keys/certificate.h"

// OpenSSL's types, so that this header needs none of its headers.
struct ssl_ctx_st;
struct ssl_st;

namespace infold::join {

class TlsContext {
 public:
  // For a switch with this identity.
  static base::Result<std::shared_ptr<const TlsContext>> of_switch(const keys::Identity& identity);
  // For ranks. All of a process share one.
  static base::Result<std::shared_ptr<const TlsContext>> of_ranks();

  ssl_ctx_st& get() const { return *context_; }
  bool is_of_switch() const { return is_of_switch_; }

 private:
  TlsContext(std::shared_ptr<ssl_ctx_st> context, bool is_of_switch)
      : context_(std::move(context)), is_of_switch_(is_of_switch) {}
  static base::Result<std::shared_ptr<const TlsContext>> make(bool is_of_switch);

  std::shared_ptr<ssl_ctx_st> context_;
  bool is_of_switch_;
};

}  // namespace infold::join
