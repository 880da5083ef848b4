// SPDX-License-Identifier: Apache-2.0
//
// Tests that a program of another version is refused with the name of what it lacks, and that
// messages of a device are read as far as they make sense.
#include "planes/p4/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planes/p4/program_testing.h"

namespace infold::p4 {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(P4Program, NumbersHaveNoLeadingZeros) {
  EXPECT_EQ(bytes_of(0), std::string(1, '\0'));
  EXPECT_EQ(bytes_of(0x1FF), "\x01\xFF");
  EXPECT_EQ(number_of(bytes_of(0x0200'0000'0001)), 0x0200'0000'0001U);
  EXPECT_EQ(number_of(std::string("\0\0\x07", 3)), 7U);
  EXPECT_EQ(number_of(""), 0U);
}

TEST(P4Program, SaysWhatAnotherProgramLacks) {
  for (const TargetKind target : {TargetKind::bmv2, TargetKind::tofino}) {
    const v1::ForwardingPipelineConfig program = test_program(target);
    ASSERT_TRUE(Program::of(target, program).has_value());
    v1::ForwardingPipelineConfig config = program;
    config.mutable_p4info()->mutable_tables(1)->mutable_preamble()->set_name("Sum.other");
    EXPECT_THAT(Program::of(target, config).error(),
                HasSubstr("it has no table Sum.admission.senders"));
    config = program;
    config.mutable_p4info()->mutable_tables(1)->mutable_match_fields(0)->set_name("other");
    EXPECT_THAT(Program::of(target, config).error(),
                HasSubstr("headers.infold.job of Sum.admission.senders"));
    config = program;
    config.mutable_p4info()->mutable_actions(2)->add_params()->set_name("more");
    EXPECT_THAT(Program::of(target, config).error(), HasSubstr("no use for the field more"));
    config = program;
    config.mutable_p4info()->clear_digests();
    EXPECT_THAT(Program::of(target, config).error(), HasSubstr("it has no digest"));
    EXPECT_THAT(Program::of(target, v1::ForwardingPipelineConfig()).error(),
                HasSubstr("it is not infold's program"));
  }
}

TEST(P4Program, SaysWhatAProgramForAnotherTargetLacks) {
  v1::ForwardingPipelineConfig config = test_program(TargetKind::tofino);
  EXPECT_THAT(Program::of(TargetKind::bmv2, config).error(), HasSubstr("no digest station_note_t"));
  config.mutable_p4info()->clear_registers();
  EXPECT_THAT(Program::of(TargetKind::tofino, config).error(),
              HasSubstr("it has no register slots_before"));
  config = test_program(TargetKind::tofino);
  (*config.mutable_p4info()->mutable_type_info()->mutable_structs())["slot_t"].clear_members();
  EXPECT_THAT(Program::of(TargetKind::tofino, config).error(),
              HasSubstr("slots_before of [open, seen]"));
  config = test_program(TargetKind::bmv2);
  EXPECT_THAT(Program::of(TargetKind::tofino, config).error(),
              HasSubstr("it has no register slots_before"));
  config.mutable_p4info()->clear_controller_packet_metadata();
  EXPECT_THAT(Program::of(TargetKind::bmv2, config).error(), HasSubstr("no header packet_out"));
}

TEST(P4Program, IsWhatTheCompilerWrites) {
  EXPECT_THAT(Program::of(TargetKind::bmv2, "no message", "{}").error(),
              HasSubstr("not a message in binary form"));
  const auto program = Program::of(
      TargetKind::bmv2, test_program(TargetKind::bmv2).p4info().SerializeAsString(), "{}");
  ASSERT_TRUE(program.has_value()) << program.error();
  EXPECT_EQ(program->config().p4_device_config(), "{}");
}

TEST(P4Program, ReadsOnlyMessagesThatAreWhole) {
  const Program program = *Program::of(TargetKind::bmv2, test_program(TargetKind::bmv2));
  v1::PacketIn packet;
  EXPECT_FALSE(program.read_packet(packet).has_value());
  for (const std::uint32_t field : program.fields_in()) {
    packet.add_metadata()->set_metadata_id(field);
    packet.mutable_metadata()->rbegin()->set_value(bytes_of(field));
  }
  const auto view = program.read_packet(packet);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->ticket, program.fields_in().front());
  EXPECT_TRUE(view->is_spoiled);
  packet.mutable_metadata()->rbegin()->set_value(bytes_of(0));
  EXPECT_FALSE(program.read_packet(packet)->is_spoiled);
  packet.mutable_metadata()->RemoveLast();
  EXPECT_FALSE(program.read_packet(packet).has_value());

  v1::DigestList list;
  list.set_digest_id(program.id_of(DigestKind::station));
  list.add_data();                                    // no struct
  list.add_data()->mutable_struct_()->add_members();  // too short
  EXPECT_THAT(program.stations(list), IsEmpty());
  EXPECT_THAT(program.workers(list), IsEmpty()) << "of another digest";
}

}  // namespace
}  // namespace infold::p4
