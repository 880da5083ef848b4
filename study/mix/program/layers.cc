// SPDX-License-Identifier: Apache-2.0
//
// Source: the layers and times that the authors of SwitchML-omnetpp published in 2023, measured on
// one V100, as means for each layer. Times are rounded to a tenth of a microsecond. A layer here
// may be a group of layers.
#include "study/mix/program/layers.h"

#include <algorithm>

namespace infold::mix {
namespace {

// Each line has elements, then microseconds of forward, backward and update.
constexpr Layer kAlexNet[] = {
    {330688, 72335.7, 49441.5, 2.4},
    {39891840, 54181.1, 69647.1, 284.5},
    {16781312, 5190.5, 2728.2, 119.7},
    {4097000, 1299.8, 562.8, 29.2},
};
constexpr Layer kBert[] = {
    {31260672, 242.5, 258.6, 705.9},  {8927232, 1422.8, 123723.8, 201.6},
    {7346176, 490.1, 4653.3, 165.9},  {9445376, 775.2, 1607.5, 213.3},
    {8400896, 1043.2, 6030.6, 189.7}, {7346176, 461.5, 4652.6, 165.9},
    {9445376, 806.3, 1607.1, 213.3},  {8400896, 1067.2, 4783.7, 189.7},
    {7346176, 454.7, 3405.6, 165.9},  {9445376, 750.2, 3216.8, 213.3},
    {8400896, 1060.6, 6032.1, 189.7}, {7346176, 454.8, 1416.4, 165.9},
    {9445376, 931.9, 663.7, 213.3},   {8400896, 1246.4, 1859.4, 189.7},
    {7346176, 523.2, 1406.5, 165.9},  {9445376, 798.8, 662.0, 213.3},
    {8400896, 1114.5, 1853.8, 189.7}, {7346176, 511.0, 1409.7, 165.9},
    {9445376, 834.7, 659.7, 213.3},   {8400896, 1261.9, 1854.6, 189.7},
    {7346176, 520.1, 1404.2, 165.9},  {9445376, 795.5, 660.1, 213.3},
    {8400896, 1132.2, 1851.9, 189.7}, {7346176, 508.9, 1400.8, 165.9},
    {9445376, 948.5, 655.0, 213.3},   {8400896, 1211.1, 1848.6, 189.7},
    {7346176, 521.5, 1403.9, 165.9},  {9445376, 796.2, 656.2, 213.3},
    {8400896, 1108.6, 1840.7, 189.7}, {7346176, 512.1, 1395.6, 165.9},
    {9445376, 828.5, 657.9, 213.3},   {8400896, 1155.3, 1855.6, 189.7},
    {7346176, 579.6, 1436.0, 165.9},  {9445376, 895.1, 676.0, 213.3},
    {8400896, 1284.5, 1911.3, 189.7}, {7346176, 601.3, 1460.7, 165.9},
    {9445376, 981.3, 758.4, 213.3},   {1053698, 569.5, 4584.8, 23.8},
};
constexpr Layer kInception[] = {
    {271200, 43891.1, 105642.6, 101.4},  {6700160, 77070.2, 156230.0, 2505.0},
    {7604224, 25259.0, 54585.4, 2843.0}, {6815616, 10587.9, 19512.4, 2548.2},
    {2443368, 1759.6, 3975.5, 913.5},
};
constexpr Layer kResNet50[] = {
    {405824, 32966.6, 81774.6, 27.3},   {6755584, 43797.3, 94682.7, 453.7},
    {7417344, 14171.1, 31102.0, 498.1}, {7875584, 6571.6, 12403.3, 528.9},
    {3102696, 1721.0, 3960.7, 208.4},
};
constexpr Layer kResNet101[] = {
    {405824, 16856.3, 41882.6, 39.7},   {6755584, 25547.1, 50849.2, 660.1},
    {6703104, 15091.6, 27522.8, 655.0}, {6703104, 15044.5, 27503.7, 655.0},
    {6703104, 15096.3, 27530.8, 655.0}, {7352832, 6723.8, 13337.5, 718.5},
    {6822912, 3079.5, 5346.2, 666.7},   {3102696, 1109.6, 2920.3, 303.2},
};
constexpr Layer kVgg16[] = {
    {555328, 76985.5, 181729.5, 1.4},  {7079936, 55822.4, 82785.5, 17.5},
    {7079424, 10333.0, 14069.9, 17.5}, {102764544, 2263.7, 58.4, 254.2},
    {16781312, 425.1, 121.6, 41.5},    {4097000, 209.3, 451.3, 10.1},
};

constexpr Model kModels[] = {
    {"Inception", kInception}, {"ResNet-50", kResNet50},   {"VGG-16", kVgg16},
    {"AlexNet", kAlexNet},     {"ResNet-101", kResNet101}, {"BERT-large", kBert},
};

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char one, char other) { return lower(one) == lower(other); });
}

}  // namespace

std::span<const Model> models() { return kModels; }

const Model* find_model(std::string_view name, std::span<const Model> among) {
  const auto found = std::find_if(among.begin(), among.end(),
                                  [&](const Model& each) { return is_alike(name, each.name); });
  return found == among.end() ? nullptr : &*found;
}

std::uint64_t elements_of(const Model& model) {
  std::uint64_t elements = 0;
  for (const Layer& layer : model.layers) elements += layer.elements;
  return elements;
}

}  // namespace infold::mix
