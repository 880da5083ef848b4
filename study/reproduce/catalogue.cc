// SPDX-License-Identifier: Apache-2.0
//
// A new reproduction needs one line here.
#include "study/reproduce/catalogue.h"

#include <algorithm>

#include "study/reproduce/byteps/byteps.h"
#include "study/reproduce/neuronabox/neuronabox.h"
#include "study/reproduce/omnireduce/omnireduce.h"
#include "study/reproduce/switchml/loss.h"
#include "study/reproduce/switchml/mixes.h"
#include "study/reproduce/switchml/models.h"
#include "study/reproduce/switchml/rate.h"

namespace infold::reproduce {
namespace {

constexpr Reproduction kReproductions[] = {
    {"switchml-rate", "elements a second against workers and packet sizes",
     [](const Progress&) { return switchml_rate(); }},
    {"switchml-loss", "how much longer a sum takes when links lose packets",
     [](const Progress& progress) { return switchml_loss({}, progress); }},
    {"switchml-models", "images a second of whole models, on a switch and with a ring",
     [](const Progress&) { return switchml_models(); }},
    {"switchml-mixes", "completion of jobs that share links and slots, with and without schedulers",
     [](const Progress& progress) { return switchml_mixes({}, progress); }},
    {"omnireduce", "time and volume of sparse sums against their density",
     [](const Progress& progress) { return omnireduce({}, progress); }},
    {"neuronabox", "a step at a few real ranks beside emulated ones, and at all real ones",
     [](const Progress&) { return neuronabox(); }},
    {"byteps", "shares and times of workers and spare hosts that sum",
     [](const Progress&) { return byteps(); }},
};

}  // namespace

std::span<const Reproduction> reproductions() { return kReproductions; }

const Reproduction* find_reproduction(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kReproductions), std::end(kReproductions),
                   [&](const Reproduction& each) { return name == each.name; });
  return found == std::end(kReproductions) ? nullptr : found;
}

}  // namespace infold::reproduce
