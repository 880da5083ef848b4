// SPDX-License-Identifier: Apache-2.0
//
// What is stored of the packet's chunk, beside its elements: core::Adder::recall(). One access to
// each register. The controller's packets have no contribution, and read all of it.
#include "headers.p4"
#include TARGET_REGISTERS

control Chunk(in headers_t headers, inout metadata_t metadata) {
  WORD_REGISTER(formats)
  WORD_REGISTER(shapes)
  WORD_REGISTER(first_workers)  // for the controller, when calls differ
  WORD_REGISTER(counts)
  WORD_REGISTER(digests)
  ROUND_REGISTER(rounds)
  WORD_REGISTER(last_workers)

  apply {
    bool begins = metadata.standing.begins == 1;
    bool completes = metadata.standing.completes == 1;
    bit<32> format = headers.infold.elements ++ headers.infold.dtype ++ headers.infold.format ++
                     headers.infold.collective ++ headers.infold.reduction;
    bit<32> worker = (bit<32>)headers.infold.worker;
    WORD_TOUCH(formats, metadata.copy, begins, format, metadata.chunk.format)
    WORD_TOUCH(shapes, metadata.copy, begins, headers.infold.shape, metadata.chunk.shape)
    WORD_TOUCH(first_workers, metadata.copy, begins, worker,
               metadata.chunk.first)
    bool fits = metadata.standing.is_new == 1 && metadata.chunk.format == format &&
                metadata.chunk.shape == headers.infold.shape;
    metadata.chunk.fits = fits ? 1w1 : 0;
    bool adds = fits && headers.infold.kind == KIND_ADD;
    metadata.adds = adds ? 1w1 : 0;

    bit<32> count;
    bit<32> more = adds ? 32w1 : 0;
    COUNT_TOUCH(counts, metadata.copy, begins, more, count)
    metadata.chunk.had_data = count != more ? 1w1 : 0;
    metadata.chunk.contributors = count[15:0];
    more = adds ? headers.infold.digest : 0;
    COUNT_TOUCH(digests, metadata.copy, begins, more, metadata.chunk.digest)
    bool spoils = metadata.standing.is_new == 1 && !fits;
    bool is_told = headers.task.isValid() && headers.task.writes[1:1] == 1;
    round_t round = headers.infold.round;
    if (is_told) round = headers.task.round;
    ROUND_TOUCH(rounds, metadata.copy, begins || is_told, round, spoils, completes,
                metadata.chunk.round, metadata.chunk.state)
    bit<32> last;
    WORD_TOUCH(last_workers, metadata.copy, completes, worker, last)
    metadata.chunk.last = last[7:0];
  }
}
