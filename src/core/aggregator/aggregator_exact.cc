// SPDX-License-Identifier: Apache-2.0
//
// How an aggregator sums format native, in which contributions are the tensor's own floats. The
// root rounds their exact sum once. An aggregator with a parent sends the sum up unrounded,
// in one or several parts.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "core/aggregator/aggregator.h"
#include "core/packet/exact_body.h"
#include "core/packet/stretches.h"

namespace infold::core {

void Aggregator::add_exact(const Packet& packet, Copy& copy, Arrays arrays) {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t elements = copy.signature.elements;
  const std::byte* x = packet.elements;
  if (packet.present != nullptr) {
    // Absent elements are +0, which does not change a sum.
    std::fill_n(whole_.begin(), elements * layout.element_bytes(), std::byte{0});
    for_each_stretch(
        packet, packet.elements,
        [&](std::uint32_t, std::uint32_t first, std::uint32_t count, const std::byte* from) {
          std::memcpy(whole_.data() + first * layout.element_bytes(), from,
                      count * layout.element_bytes());
        });
    x = whole_.data();
  }
  copy.has_lanes = true;
  if (has_parent() || !has_all(copy)) {
    exact_.add(number_of(copy), layout.dtype, x, elements);
  } else {
    exact_.add_last(number_of(copy), layout.dtype, x, elements, divisor_of(copy),
                    arrays.datagram + INFOLD_HEADER_BYTES);
  }
}

std::uint32_t Aggregator::divisor_of(const Copy& copy) {
  const bool divides = copy.signature.reduction() == Reduction::average;
  return divides ? std::max<std::uint32_t>(copy.contributors.count, 1) : 1;
}

// Takes one part of a child aggregator's sum. The parts come in any order, and each counts once.
Aggregator::PartNews Aggregator::take_exact_part(const Packet& packet, Copy& copy) {
  const DataType dtype = copy.signature.layout().dtype;
  const std::uint32_t elements = copy.signature.elements;
  const ExactBody body = read_exact(packet);
  Parts& parts = parts_[number_of(copy) * options_.workers.size() + packet.header.worker];
  if (parts.seen != 0 && parts.count != body.parts) return PartNews::malformed;
  const std::uint32_t bit = 1U << body.part;
  if ((parts.seen & bit) != 0) return PartNews::repeat;
  parts.count = static_cast<std::uint8_t>(body.parts);
  parts.seen |= bit;
  copy.has_lanes = true;
  const std::uint32_t sum = number_of(copy);
  if (body.part == 0) {
    add_exact_doubles(sum, dtype, elements, body);
  } else {
    for (std::uint32_t row = 0; row < body.rows; ++row) {
      exact_.add_row(sum, dtype, body.first_row + row,
                     body.digits + std::size_t{row} * elements * sizeof(std::int32_t), elements);
    }
  }
  const std::uint32_t all = parts.count == kExactPartsMax ? ~0U : (1U << parts.count) - 1;
  if (parts.seen != all) return PartNews::some;
  parts = {};
  return PartNews::all;
}

void Aggregator::add_exact_doubles(std::uint32_t sum, DataType dtype, std::uint32_t elements,
                                   const ExactBody& body) {
  const bool is_empty = body.high == nullptr;  // the sender changed it after the check
  if (is_empty) std::fill_n(lows_.begin(), elements, 0.0);
  exact_.add_doubles(sum, dtype,
                     is_empty ? reinterpret_cast<const std::byte*>(lows_.data()) : body.high,
                     elements);
  if (body.lows == 0) return;
  if (dtype == DataType::f64) {
    exact_.add_doubles(sum, dtype, body.lows_at, elements);
    return;
  }
  std::fill_n(lows_.begin(), elements, 0.0);
  for (std::uint32_t pair = 0; pair < body.lows; ++pair) {
    std::memcpy(&lows_[body.low_index(pair, elements)], body.lows_at + 8 * std::size_t{pair}, 8);
  }
  exact_.add_doubles(sum, dtype, reinterpret_cast<const std::byte*>(lows_.data()), elements);
}

// add_last() may already have rounded the sum together with the last contribution.
void Aggregator::write_exact_result(const Copy& copy, Arrays arrays) {
  if (!exact_.has_begun(number_of(copy))) return;
  exact_.round(number_of(copy), copy.signature.layout().dtype, copy.signature.elements,
               divisor_of(copy), arrays.datagram + INFOLD_HEADER_BYTES);
  exact_.end(number_of(copy));
}

bool Aggregator::has_some_part(const Copy& copy, std::uint8_t worker) const {
  return !parts_.empty() && parts_[number_of(copy) * options_.workers.size() + worker].seen != 0;
}

// Returns how many rows of digits fit in a packet to the parent.
std::uint32_t Aggregator::exact_rows_of_part(std::uint32_t elements) const {
  const std::uint32_t room =
      options_.datagram_bytes_max - INFOLD_HEADER_BYTES - std::uint32_t{sizeof(infold_exact)};
  const std::uint32_t row_bytes = std::max(elements, 1U) * std::uint32_t{sizeof(std::int32_t)};
  return std::max(room / row_bytes, 1U);
}

// Counts part 0 and the parts with rows.
std::uint32_t Aggregator::exact_parts_of(const Copy& copy) const {
  const std::uint32_t of_part = exact_rows_of_part(copy.signature.elements);
  const std::uint32_t rows = copy.exact_rows.end - std::uint32_t{copy.exact_rows.first};
  return 1 + (rows + of_part - 1) / of_part;
}

// Writes part 0 into the copy's datagram. The other parts are made when they are sent.
std::uint32_t Aggregator::write_exact_partial(Copy& copy, Arrays arrays) {
  const std::uint32_t sum = number_of(copy);
  const DataType dtype = copy.signature.layout().dtype;
  const std::uint32_t elements = copy.signature.elements;
  copy.exact_rows = {};
  if (!exact_.travels_as_doubles(sum, exact_lows_max(dtype, elements))) {
    const std::uint32_t rows = bin_layout(dtype).rows;
    while (copy.exact_rows.first < rows && !exact_.has_row(sum, copy.exact_rows.first)) {
      ++copy.exact_rows.first;
    }
    copy.exact_rows.end = static_cast<std::uint8_t>(rows);
    while (copy.exact_rows.end > copy.exact_rows.first &&
           !exact_.has_row(sum, copy.exact_rows.end - 1U)) {
      --copy.exact_rows.end;
    }
  }
  return write_exact_doubles(dtype, elements, exact_parts_of(copy), exact_.sent_high(sum),
                             exact_.sent_low(sum), arrays.datagram + INFOLD_HEADER_BYTES);
}

// Workers below one aggregator ask about a chunk at about the same time. They share one repeat of a
// sum in several parts and its answer, because a part is as long as a whole packet. If the
// repeat or its answer is lost, some worker asks again, and then the parts go up again.
bool Aggregator::may_go_up_again(const Copy& copy, const Header& header) {
  if (!is_in_parts(copy)) return true;
  WorkerSet& asked = asked_since_[header.slot];
  const bool goes_up = asked.is_empty() || asked.has(header.worker);
  if (goes_up) asked = {};
  asked.add(header.worker);
  return goes_up;
}

// A queue on the way may be too short for all parts, so repeats send them in different orders. A
// parent that has seen all parts answers part 0 alone, so every second repeat begins with
// it. The others begin with one of the other parts each, in turn.
void Aggregator::send_stored_to_parent(const Copy& copy, Arrays arrays) {
  const auto first = outbox_.begin() + outbox_count_;
  send(To::parent, 0, {arrays.datagram, copy.stored_bytes});
  if (!is_in_parts(copy)) return;
  send_exact_rows(copy, arrays);
  const auto last = outbox_.begin() + outbox_count_;
  const auto later_parts = static_cast<std::uint32_t>(last - first) - 1;
  const std::uint32_t turn = copy.repeats / 2U % later_parts;
  const bool begins_with_part_0 = copy.repeats % 2 == 0;
  if (begins_with_part_0) {
    std::rotate(first + 1, first + 1 + turn, last);
  } else {
    std::rotate(first, first + 1 + turn, last);
  }
}

// Sends the parts after part 0, with the header of part 0.
void Aggregator::send_exact_rows(const Copy& copy, Arrays arrays) {
  const std::uint32_t elements = copy.signature.elements;
  const std::uint32_t of_part = exact_rows_of_part(elements);
  const std::uint32_t parts = exact_parts_of(copy);
  for (std::uint32_t part = 1; part < parts; ++part) {
    const std::uint32_t first = copy.exact_rows.first + (part - 1) * of_part;
    const std::uint32_t rows = std::min(of_part, copy.exact_rows.end - first);
    CHECK_THAT(row_parts_, <, kRowPartsMax);
    std::byte* const datagram =
        part_datagrams_.data() + std::size_t{row_parts_++} * stored_bytes_max_;
    std::memcpy(datagram, arrays.datagram, INFOLD_HEADER_BYTES);
    std::byte* const body = datagram + INFOLD_HEADER_BYTES;
    std::byte* digits = body + write_exact_head(part, parts, first, rows, body);
    for (std::uint32_t row = first; row < first + rows; ++row) {
      exact_.write_row(number_of(copy), row, digits);
      digits += std::size_t{elements} * sizeof(std::int32_t);
    }
    send(To::parent, 0, {datagram, static_cast<std::size_t>(digits - datagram)});
  }
}

}  // namespace infold::core
