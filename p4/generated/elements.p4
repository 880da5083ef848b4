// SPDX-License-Identifier: Apache-2.0
//
// The sums, one register for each element: core::Adder::sum().
// Written by tools/p4_elements.py.
#include "../headers.p4"
#include TARGET_REGISTERS

control Elements(inout headers_t headers, inout metadata_t metadata) {
  ELEMENT_REGISTER(sums0)
  ELEMENT_REGISTER(sums1)
  ELEMENT_REGISTER(sums2)
  ELEMENT_REGISTER(sums3)
  ELEMENT_REGISTER(sums4)
  ELEMENT_REGISTER(sums5)
  ELEMENT_REGISTER(sums6)
  ELEMENT_REGISTER(sums7)
  ELEMENT_REGISTER(sums8)
  ELEMENT_REGISTER(sums9)
  ELEMENT_REGISTER(sums10)
  ELEMENT_REGISTER(sums11)
  ELEMENT_REGISTER(sums12)
  ELEMENT_REGISTER(sums13)
  ELEMENT_REGISTER(sums14)
  ELEMENT_REGISTER(sums15)
  ELEMENT_REGISTER(sums16)
  ELEMENT_REGISTER(sums17)
  ELEMENT_REGISTER(sums18)
  ELEMENT_REGISTER(sums19)
  ELEMENT_REGISTER(sums20)
  ELEMENT_REGISTER(sums21)
  ELEMENT_REGISTER(sums22)
  ELEMENT_REGISTER(sums23)
  ELEMENT_REGISTER(sums24)
  ELEMENT_REGISTER(sums25)
  ELEMENT_REGISTER(sums26)
  ELEMENT_REGISTER(sums27)
  ELEMENT_REGISTER(sums28)
  ELEMENT_REGISTER(sums29)
  ELEMENT_REGISTER(sums30)
  ELEMENT_REGISTER(sums31)
  ELEMENT_REGISTER(sums32)
  ELEMENT_REGISTER(sums33)
  ELEMENT_REGISTER(sums34)
  ELEMENT_REGISTER(sums35)
  ELEMENT_REGISTER(sums36)
  ELEMENT_REGISTER(sums37)
  ELEMENT_REGISTER(sums38)
  ELEMENT_REGISTER(sums39)
  ELEMENT_REGISTER(sums40)
  ELEMENT_REGISTER(sums41)
  ELEMENT_REGISTER(sums42)
  ELEMENT_REGISTER(sums43)
  ELEMENT_REGISTER(sums44)
  ELEMENT_REGISTER(sums45)
  ELEMENT_REGISTER(sums46)
  ELEMENT_REGISTER(sums47)
  ELEMENT_REGISTER(sums48)
  ELEMENT_REGISTER(sums49)
  ELEMENT_REGISTER(sums50)
  ELEMENT_REGISTER(sums51)
  ELEMENT_REGISTER(sums52)
  ELEMENT_REGISTER(sums53)
  ELEMENT_REGISTER(sums54)
  ELEMENT_REGISTER(sums55)
  ELEMENT_REGISTER(sums56)
  ELEMENT_REGISTER(sums57)
  ELEMENT_REGISTER(sums58)
  ELEMENT_REGISTER(sums59)
  ELEMENT_REGISTER(sums60)
  ELEMENT_REGISTER(sums61)
  ELEMENT_REGISTER(sums62)
  ELEMENT_REGISTER(sums63)

  apply {
    bit<16> elements = metadata.chunk.contributors == 0 ? 0 : metadata.chunk.format[31:16];
    bit<4> format = metadata.chunk.format[11:8];
    bit<4> reduction = metadata.chunk.format[3:0];
    operation_t operation = operation_t.read;
    if (metadata.adds == 1) {
      operation = operation_t.add;
      if (reduction == REDUCTION_MIN) operation = operation_t.min;
      if (reduction == REDUCTION_MAX) operation = operation_t.max;
      if (reduction == REDUCTION_OR) operation = operation_t.bit_or;
      if (metadata.chunk.had_data == 0) operation = operation_t.write;
    }
    if (elements > 0) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[0].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[0].value[7:0] ++ headers.elements16[0].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[0].value[7:0] ++ headers.elements32[0].value[15:8] ++ headers.elements32[0].value[23:16] ++ headers.elements32[0].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums0, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[0].setValid();
          headers.elements8[0].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[0].setValid();
          headers.elements16[0].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[0].setValid();
          headers.elements32[0].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 1) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[1].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[1].value[7:0] ++ headers.elements16[1].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[1].value[7:0] ++ headers.elements32[1].value[15:8] ++ headers.elements32[1].value[23:16] ++ headers.elements32[1].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums1, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[1].setValid();
          headers.elements8[1].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[1].setValid();
          headers.elements16[1].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[1].setValid();
          headers.elements32[1].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 2) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[2].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[2].value[7:0] ++ headers.elements16[2].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[2].value[7:0] ++ headers.elements32[2].value[15:8] ++ headers.elements32[2].value[23:16] ++ headers.elements32[2].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums2, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[2].setValid();
          headers.elements8[2].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[2].setValid();
          headers.elements16[2].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[2].setValid();
          headers.elements32[2].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 3) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[3].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[3].value[7:0] ++ headers.elements16[3].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[3].value[7:0] ++ headers.elements32[3].value[15:8] ++ headers.elements32[3].value[23:16] ++ headers.elements32[3].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums3, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[3].setValid();
          headers.elements8[3].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[3].setValid();
          headers.elements16[3].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[3].setValid();
          headers.elements32[3].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 4) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[4].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[4].value[7:0] ++ headers.elements16[4].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[4].value[7:0] ++ headers.elements32[4].value[15:8] ++ headers.elements32[4].value[23:16] ++ headers.elements32[4].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums4, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[4].setValid();
          headers.elements8[4].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[4].setValid();
          headers.elements16[4].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[4].setValid();
          headers.elements32[4].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 5) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[5].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[5].value[7:0] ++ headers.elements16[5].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[5].value[7:0] ++ headers.elements32[5].value[15:8] ++ headers.elements32[5].value[23:16] ++ headers.elements32[5].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums5, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[5].setValid();
          headers.elements8[5].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[5].setValid();
          headers.elements16[5].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[5].setValid();
          headers.elements32[5].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 6) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[6].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[6].value[7:0] ++ headers.elements16[6].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[6].value[7:0] ++ headers.elements32[6].value[15:8] ++ headers.elements32[6].value[23:16] ++ headers.elements32[6].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums6, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[6].setValid();
          headers.elements8[6].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[6].setValid();
          headers.elements16[6].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[6].setValid();
          headers.elements32[6].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 7) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[7].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[7].value[7:0] ++ headers.elements16[7].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[7].value[7:0] ++ headers.elements32[7].value[15:8] ++ headers.elements32[7].value[23:16] ++ headers.elements32[7].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums7, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[7].setValid();
          headers.elements8[7].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[7].setValid();
          headers.elements16[7].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[7].setValid();
          headers.elements32[7].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 8) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[8].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[8].value[7:0] ++ headers.elements16[8].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[8].value[7:0] ++ headers.elements32[8].value[15:8] ++ headers.elements32[8].value[23:16] ++ headers.elements32[8].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums8, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[8].setValid();
          headers.elements8[8].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[8].setValid();
          headers.elements16[8].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[8].setValid();
          headers.elements32[8].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 9) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[9].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[9].value[7:0] ++ headers.elements16[9].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[9].value[7:0] ++ headers.elements32[9].value[15:8] ++ headers.elements32[9].value[23:16] ++ headers.elements32[9].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums9, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[9].setValid();
          headers.elements8[9].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[9].setValid();
          headers.elements16[9].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[9].setValid();
          headers.elements32[9].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 10) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[10].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[10].value[7:0] ++ headers.elements16[10].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[10].value[7:0] ++ headers.elements32[10].value[15:8] ++ headers.elements32[10].value[23:16] ++ headers.elements32[10].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums10, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[10].setValid();
          headers.elements8[10].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[10].setValid();
          headers.elements16[10].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[10].setValid();
          headers.elements32[10].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 11) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[11].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[11].value[7:0] ++ headers.elements16[11].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[11].value[7:0] ++ headers.elements32[11].value[15:8] ++ headers.elements32[11].value[23:16] ++ headers.elements32[11].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums11, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[11].setValid();
          headers.elements8[11].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[11].setValid();
          headers.elements16[11].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[11].setValid();
          headers.elements32[11].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 12) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[12].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[12].value[7:0] ++ headers.elements16[12].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[12].value[7:0] ++ headers.elements32[12].value[15:8] ++ headers.elements32[12].value[23:16] ++ headers.elements32[12].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums12, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[12].setValid();
          headers.elements8[12].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[12].setValid();
          headers.elements16[12].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[12].setValid();
          headers.elements32[12].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 13) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[13].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[13].value[7:0] ++ headers.elements16[13].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[13].value[7:0] ++ headers.elements32[13].value[15:8] ++ headers.elements32[13].value[23:16] ++ headers.elements32[13].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums13, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[13].setValid();
          headers.elements8[13].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[13].setValid();
          headers.elements16[13].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[13].setValid();
          headers.elements32[13].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 14) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[14].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[14].value[7:0] ++ headers.elements16[14].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[14].value[7:0] ++ headers.elements32[14].value[15:8] ++ headers.elements32[14].value[23:16] ++ headers.elements32[14].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums14, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[14].setValid();
          headers.elements8[14].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[14].setValid();
          headers.elements16[14].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[14].setValid();
          headers.elements32[14].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 15) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[15].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[15].value[7:0] ++ headers.elements16[15].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[15].value[7:0] ++ headers.elements32[15].value[15:8] ++ headers.elements32[15].value[23:16] ++ headers.elements32[15].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums15, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[15].setValid();
          headers.elements8[15].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[15].setValid();
          headers.elements16[15].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[15].setValid();
          headers.elements32[15].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 16) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[16].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[16].value[7:0] ++ headers.elements16[16].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[16].value[7:0] ++ headers.elements32[16].value[15:8] ++ headers.elements32[16].value[23:16] ++ headers.elements32[16].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums16, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[16].setValid();
          headers.elements8[16].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[16].setValid();
          headers.elements16[16].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[16].setValid();
          headers.elements32[16].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 17) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[17].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[17].value[7:0] ++ headers.elements16[17].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[17].value[7:0] ++ headers.elements32[17].value[15:8] ++ headers.elements32[17].value[23:16] ++ headers.elements32[17].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums17, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[17].setValid();
          headers.elements8[17].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[17].setValid();
          headers.elements16[17].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[17].setValid();
          headers.elements32[17].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 18) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[18].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[18].value[7:0] ++ headers.elements16[18].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[18].value[7:0] ++ headers.elements32[18].value[15:8] ++ headers.elements32[18].value[23:16] ++ headers.elements32[18].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums18, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[18].setValid();
          headers.elements8[18].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[18].setValid();
          headers.elements16[18].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[18].setValid();
          headers.elements32[18].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 19) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[19].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[19].value[7:0] ++ headers.elements16[19].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[19].value[7:0] ++ headers.elements32[19].value[15:8] ++ headers.elements32[19].value[23:16] ++ headers.elements32[19].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums19, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[19].setValid();
          headers.elements8[19].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[19].setValid();
          headers.elements16[19].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[19].setValid();
          headers.elements32[19].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 20) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[20].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[20].value[7:0] ++ headers.elements16[20].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[20].value[7:0] ++ headers.elements32[20].value[15:8] ++ headers.elements32[20].value[23:16] ++ headers.elements32[20].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums20, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[20].setValid();
          headers.elements8[20].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[20].setValid();
          headers.elements16[20].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[20].setValid();
          headers.elements32[20].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 21) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[21].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[21].value[7:0] ++ headers.elements16[21].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[21].value[7:0] ++ headers.elements32[21].value[15:8] ++ headers.elements32[21].value[23:16] ++ headers.elements32[21].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums21, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[21].setValid();
          headers.elements8[21].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[21].setValid();
          headers.elements16[21].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[21].setValid();
          headers.elements32[21].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 22) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[22].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[22].value[7:0] ++ headers.elements16[22].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[22].value[7:0] ++ headers.elements32[22].value[15:8] ++ headers.elements32[22].value[23:16] ++ headers.elements32[22].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums22, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[22].setValid();
          headers.elements8[22].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[22].setValid();
          headers.elements16[22].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[22].setValid();
          headers.elements32[22].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 23) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[23].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[23].value[7:0] ++ headers.elements16[23].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[23].value[7:0] ++ headers.elements32[23].value[15:8] ++ headers.elements32[23].value[23:16] ++ headers.elements32[23].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums23, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[23].setValid();
          headers.elements8[23].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[23].setValid();
          headers.elements16[23].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[23].setValid();
          headers.elements32[23].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 24) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[24].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[24].value[7:0] ++ headers.elements16[24].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[24].value[7:0] ++ headers.elements32[24].value[15:8] ++ headers.elements32[24].value[23:16] ++ headers.elements32[24].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums24, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[24].setValid();
          headers.elements8[24].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[24].setValid();
          headers.elements16[24].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[24].setValid();
          headers.elements32[24].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 25) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[25].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[25].value[7:0] ++ headers.elements16[25].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[25].value[7:0] ++ headers.elements32[25].value[15:8] ++ headers.elements32[25].value[23:16] ++ headers.elements32[25].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums25, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[25].setValid();
          headers.elements8[25].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[25].setValid();
          headers.elements16[25].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[25].setValid();
          headers.elements32[25].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 26) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[26].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[26].value[7:0] ++ headers.elements16[26].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[26].value[7:0] ++ headers.elements32[26].value[15:8] ++ headers.elements32[26].value[23:16] ++ headers.elements32[26].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums26, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[26].setValid();
          headers.elements8[26].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[26].setValid();
          headers.elements16[26].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[26].setValid();
          headers.elements32[26].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 27) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[27].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[27].value[7:0] ++ headers.elements16[27].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[27].value[7:0] ++ headers.elements32[27].value[15:8] ++ headers.elements32[27].value[23:16] ++ headers.elements32[27].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums27, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[27].setValid();
          headers.elements8[27].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[27].setValid();
          headers.elements16[27].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[27].setValid();
          headers.elements32[27].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 28) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[28].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[28].value[7:0] ++ headers.elements16[28].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[28].value[7:0] ++ headers.elements32[28].value[15:8] ++ headers.elements32[28].value[23:16] ++ headers.elements32[28].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums28, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[28].setValid();
          headers.elements8[28].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[28].setValid();
          headers.elements16[28].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[28].setValid();
          headers.elements32[28].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 29) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[29].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[29].value[7:0] ++ headers.elements16[29].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[29].value[7:0] ++ headers.elements32[29].value[15:8] ++ headers.elements32[29].value[23:16] ++ headers.elements32[29].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums29, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[29].setValid();
          headers.elements8[29].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[29].setValid();
          headers.elements16[29].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[29].setValid();
          headers.elements32[29].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 30) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[30].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[30].value[7:0] ++ headers.elements16[30].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[30].value[7:0] ++ headers.elements32[30].value[15:8] ++ headers.elements32[30].value[23:16] ++ headers.elements32[30].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums30, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[30].setValid();
          headers.elements8[30].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[30].setValid();
          headers.elements16[30].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[30].setValid();
          headers.elements32[30].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 31) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[31].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[31].value[7:0] ++ headers.elements16[31].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[31].value[7:0] ++ headers.elements32[31].value[15:8] ++ headers.elements32[31].value[23:16] ++ headers.elements32[31].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums31, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[31].setValid();
          headers.elements8[31].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[31].setValid();
          headers.elements16[31].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[31].setValid();
          headers.elements32[31].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 32) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[32].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[32].value[7:0] ++ headers.elements16[32].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[32].value[7:0] ++ headers.elements32[32].value[15:8] ++ headers.elements32[32].value[23:16] ++ headers.elements32[32].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums32, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[32].setValid();
          headers.elements8[32].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[32].setValid();
          headers.elements16[32].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[32].setValid();
          headers.elements32[32].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 33) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[33].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[33].value[7:0] ++ headers.elements16[33].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[33].value[7:0] ++ headers.elements32[33].value[15:8] ++ headers.elements32[33].value[23:16] ++ headers.elements32[33].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums33, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[33].setValid();
          headers.elements8[33].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[33].setValid();
          headers.elements16[33].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[33].setValid();
          headers.elements32[33].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 34) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[34].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[34].value[7:0] ++ headers.elements16[34].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[34].value[7:0] ++ headers.elements32[34].value[15:8] ++ headers.elements32[34].value[23:16] ++ headers.elements32[34].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums34, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[34].setValid();
          headers.elements8[34].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[34].setValid();
          headers.elements16[34].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[34].setValid();
          headers.elements32[34].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 35) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[35].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[35].value[7:0] ++ headers.elements16[35].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[35].value[7:0] ++ headers.elements32[35].value[15:8] ++ headers.elements32[35].value[23:16] ++ headers.elements32[35].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums35, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[35].setValid();
          headers.elements8[35].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[35].setValid();
          headers.elements16[35].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[35].setValid();
          headers.elements32[35].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 36) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[36].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[36].value[7:0] ++ headers.elements16[36].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[36].value[7:0] ++ headers.elements32[36].value[15:8] ++ headers.elements32[36].value[23:16] ++ headers.elements32[36].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums36, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[36].setValid();
          headers.elements8[36].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[36].setValid();
          headers.elements16[36].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[36].setValid();
          headers.elements32[36].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 37) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[37].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[37].value[7:0] ++ headers.elements16[37].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[37].value[7:0] ++ headers.elements32[37].value[15:8] ++ headers.elements32[37].value[23:16] ++ headers.elements32[37].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums37, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[37].setValid();
          headers.elements8[37].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[37].setValid();
          headers.elements16[37].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[37].setValid();
          headers.elements32[37].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 38) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[38].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[38].value[7:0] ++ headers.elements16[38].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[38].value[7:0] ++ headers.elements32[38].value[15:8] ++ headers.elements32[38].value[23:16] ++ headers.elements32[38].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums38, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[38].setValid();
          headers.elements8[38].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[38].setValid();
          headers.elements16[38].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[38].setValid();
          headers.elements32[38].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 39) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[39].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[39].value[7:0] ++ headers.elements16[39].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[39].value[7:0] ++ headers.elements32[39].value[15:8] ++ headers.elements32[39].value[23:16] ++ headers.elements32[39].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums39, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[39].setValid();
          headers.elements8[39].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[39].setValid();
          headers.elements16[39].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[39].setValid();
          headers.elements32[39].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 40) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[40].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[40].value[7:0] ++ headers.elements16[40].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[40].value[7:0] ++ headers.elements32[40].value[15:8] ++ headers.elements32[40].value[23:16] ++ headers.elements32[40].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums40, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[40].setValid();
          headers.elements8[40].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[40].setValid();
          headers.elements16[40].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[40].setValid();
          headers.elements32[40].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 41) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[41].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[41].value[7:0] ++ headers.elements16[41].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[41].value[7:0] ++ headers.elements32[41].value[15:8] ++ headers.elements32[41].value[23:16] ++ headers.elements32[41].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums41, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[41].setValid();
          headers.elements8[41].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[41].setValid();
          headers.elements16[41].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[41].setValid();
          headers.elements32[41].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 42) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[42].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[42].value[7:0] ++ headers.elements16[42].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[42].value[7:0] ++ headers.elements32[42].value[15:8] ++ headers.elements32[42].value[23:16] ++ headers.elements32[42].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums42, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[42].setValid();
          headers.elements8[42].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[42].setValid();
          headers.elements16[42].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[42].setValid();
          headers.elements32[42].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 43) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[43].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[43].value[7:0] ++ headers.elements16[43].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[43].value[7:0] ++ headers.elements32[43].value[15:8] ++ headers.elements32[43].value[23:16] ++ headers.elements32[43].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums43, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[43].setValid();
          headers.elements8[43].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[43].setValid();
          headers.elements16[43].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[43].setValid();
          headers.elements32[43].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 44) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[44].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[44].value[7:0] ++ headers.elements16[44].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[44].value[7:0] ++ headers.elements32[44].value[15:8] ++ headers.elements32[44].value[23:16] ++ headers.elements32[44].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums44, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[44].setValid();
          headers.elements8[44].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[44].setValid();
          headers.elements16[44].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[44].setValid();
          headers.elements32[44].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 45) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[45].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[45].value[7:0] ++ headers.elements16[45].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[45].value[7:0] ++ headers.elements32[45].value[15:8] ++ headers.elements32[45].value[23:16] ++ headers.elements32[45].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums45, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[45].setValid();
          headers.elements8[45].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[45].setValid();
          headers.elements16[45].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[45].setValid();
          headers.elements32[45].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 46) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[46].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[46].value[7:0] ++ headers.elements16[46].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[46].value[7:0] ++ headers.elements32[46].value[15:8] ++ headers.elements32[46].value[23:16] ++ headers.elements32[46].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums46, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[46].setValid();
          headers.elements8[46].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[46].setValid();
          headers.elements16[46].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[46].setValid();
          headers.elements32[46].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 47) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[47].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[47].value[7:0] ++ headers.elements16[47].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[47].value[7:0] ++ headers.elements32[47].value[15:8] ++ headers.elements32[47].value[23:16] ++ headers.elements32[47].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums47, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[47].setValid();
          headers.elements8[47].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[47].setValid();
          headers.elements16[47].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[47].setValid();
          headers.elements32[47].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 48) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[48].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[48].value[7:0] ++ headers.elements16[48].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[48].value[7:0] ++ headers.elements32[48].value[15:8] ++ headers.elements32[48].value[23:16] ++ headers.elements32[48].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums48, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[48].setValid();
          headers.elements8[48].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[48].setValid();
          headers.elements16[48].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[48].setValid();
          headers.elements32[48].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 49) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[49].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[49].value[7:0] ++ headers.elements16[49].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[49].value[7:0] ++ headers.elements32[49].value[15:8] ++ headers.elements32[49].value[23:16] ++ headers.elements32[49].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums49, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[49].setValid();
          headers.elements8[49].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[49].setValid();
          headers.elements16[49].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[49].setValid();
          headers.elements32[49].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 50) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[50].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[50].value[7:0] ++ headers.elements16[50].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[50].value[7:0] ++ headers.elements32[50].value[15:8] ++ headers.elements32[50].value[23:16] ++ headers.elements32[50].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums50, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[50].setValid();
          headers.elements8[50].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[50].setValid();
          headers.elements16[50].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[50].setValid();
          headers.elements32[50].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 51) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[51].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[51].value[7:0] ++ headers.elements16[51].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[51].value[7:0] ++ headers.elements32[51].value[15:8] ++ headers.elements32[51].value[23:16] ++ headers.elements32[51].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums51, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[51].setValid();
          headers.elements8[51].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[51].setValid();
          headers.elements16[51].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[51].setValid();
          headers.elements32[51].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 52) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[52].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[52].value[7:0] ++ headers.elements16[52].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[52].value[7:0] ++ headers.elements32[52].value[15:8] ++ headers.elements32[52].value[23:16] ++ headers.elements32[52].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums52, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[52].setValid();
          headers.elements8[52].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[52].setValid();
          headers.elements16[52].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[52].setValid();
          headers.elements32[52].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 53) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[53].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[53].value[7:0] ++ headers.elements16[53].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[53].value[7:0] ++ headers.elements32[53].value[15:8] ++ headers.elements32[53].value[23:16] ++ headers.elements32[53].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums53, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[53].setValid();
          headers.elements8[53].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[53].setValid();
          headers.elements16[53].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[53].setValid();
          headers.elements32[53].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 54) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[54].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[54].value[7:0] ++ headers.elements16[54].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[54].value[7:0] ++ headers.elements32[54].value[15:8] ++ headers.elements32[54].value[23:16] ++ headers.elements32[54].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums54, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[54].setValid();
          headers.elements8[54].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[54].setValid();
          headers.elements16[54].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[54].setValid();
          headers.elements32[54].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 55) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[55].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[55].value[7:0] ++ headers.elements16[55].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[55].value[7:0] ++ headers.elements32[55].value[15:8] ++ headers.elements32[55].value[23:16] ++ headers.elements32[55].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums55, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[55].setValid();
          headers.elements8[55].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[55].setValid();
          headers.elements16[55].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[55].setValid();
          headers.elements32[55].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 56) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[56].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[56].value[7:0] ++ headers.elements16[56].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[56].value[7:0] ++ headers.elements32[56].value[15:8] ++ headers.elements32[56].value[23:16] ++ headers.elements32[56].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums56, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[56].setValid();
          headers.elements8[56].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[56].setValid();
          headers.elements16[56].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[56].setValid();
          headers.elements32[56].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 57) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[57].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[57].value[7:0] ++ headers.elements16[57].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[57].value[7:0] ++ headers.elements32[57].value[15:8] ++ headers.elements32[57].value[23:16] ++ headers.elements32[57].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums57, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[57].setValid();
          headers.elements8[57].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[57].setValid();
          headers.elements16[57].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[57].setValid();
          headers.elements32[57].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 58) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[58].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[58].value[7:0] ++ headers.elements16[58].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[58].value[7:0] ++ headers.elements32[58].value[15:8] ++ headers.elements32[58].value[23:16] ++ headers.elements32[58].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums58, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[58].setValid();
          headers.elements8[58].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[58].setValid();
          headers.elements16[58].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[58].setValid();
          headers.elements32[58].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 59) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[59].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[59].value[7:0] ++ headers.elements16[59].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[59].value[7:0] ++ headers.elements32[59].value[15:8] ++ headers.elements32[59].value[23:16] ++ headers.elements32[59].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums59, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[59].setValid();
          headers.elements8[59].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[59].setValid();
          headers.elements16[59].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[59].setValid();
          headers.elements32[59].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 60) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[60].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[60].value[7:0] ++ headers.elements16[60].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[60].value[7:0] ++ headers.elements32[60].value[15:8] ++ headers.elements32[60].value[23:16] ++ headers.elements32[60].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums60, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[60].setValid();
          headers.elements8[60].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[60].setValid();
          headers.elements16[60].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[60].setValid();
          headers.elements32[60].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 61) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[61].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[61].value[7:0] ++ headers.elements16[61].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[61].value[7:0] ++ headers.elements32[61].value[15:8] ++ headers.elements32[61].value[23:16] ++ headers.elements32[61].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums61, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[61].setValid();
          headers.elements8[61].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[61].setValid();
          headers.elements16[61].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[61].setValid();
          headers.elements32[61].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 62) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[62].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[62].value[7:0] ++ headers.elements16[62].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[62].value[7:0] ++ headers.elements32[62].value[15:8] ++ headers.elements32[62].value[23:16] ++ headers.elements32[62].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums62, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[62].setValid();
          headers.elements8[62].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[62].setValid();
          headers.elements16[62].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[62].setValid();
          headers.elements32[62].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
    if (elements > 63) {
      element_t value = 0;
      if (metadata.adds == 1) {
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>)headers.elements8[63].value;
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)(headers.elements16[63].value[7:0] ++ headers.elements16[63].value[15:8]);
        if (format == FORMAT_I32) value = headers.elements32[63].value[7:0] ++ headers.elements32[63].value[15:8] ++ headers.elements32[63].value[23:16] ++ headers.elements32[63].value[31:24];
      }
      element_t sum;
      ELEMENT_TOUCH(sums63, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {
        if (format == FORMAT_I8) {
          headers.elements8[63].setValid();
          headers.elements8[63].value = sum[7:0];
        }
        if (format == FORMAT_I16) {
          headers.elements16[63].setValid();
          headers.elements16[63].value = sum[7:0] ++ sum[15:8];
        }
        if (format == FORMAT_I32) {
          headers.elements32[63].setValid();
          headers.elements32[63].value = sum[7:0] ++ sum[15:8] ++ sum[23:16] ++ sum[31:24];
        }
      }
    }
  }
}
