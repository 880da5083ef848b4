// SPDX-License-Identifier: Apache-2.0
#include "api/compression/choice_check.h"

#include <fmt/format.h>

#include "api/compression/text_hash.h"
#include "api/compression/wait_or_stop.h"

namespace infold {

Result<void> check_choices(Communicator& communicator, const std::vector<ChoiceField>& fields,
                           const AverageOptions& options) {
  std::vector<std::int64_t> own;
  for (const ChoiceField& field : fields) {
    own.push_back(static_cast<std::int64_t>(hash_of_text(field.text)));
  }
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(communicator.world()));
  const CallOptions call{.deadline = options.deadline};
  auto done = wait_or_stop(communicator.all_gather(own, all, call), options.stop);
  if (!done) return done;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t field = i % own.size();
    if (all[i] == all[field]) continue;
    const auto rank = static_cast<int>(i / own.size());
    return tl::unexpected(
        Error{Code::mismatch,
              fmt::format("compression: rank {} has other {} than rank 0; rank {} has: {}", rank,
                          fields[field].name, communicator.rank(), fields[field].text),
              rank, fields[field].name});
  }
  return {};
}

}  // namespace infold
