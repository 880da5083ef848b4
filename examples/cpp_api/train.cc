// SPDX-License-Identifier: Apache-2.0
//
// Three ranks fit a line to points with infold's C++ API. Each rank has a part of the points. Rank,
// world and switches come from the environment, as under any launcher (RANK, WORLD_SIZE,
// INFOLD_SWITCHES). Rank 0 prints "step loss slope offset" lines.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <infold/communicator.h>

namespace {

constexpr int kSteps = 60;
constexpr int kPoints = 500;
constexpr float kRate = 0.3F;

struct Point {
  float x, y;
};

// Returns points near y = 3 x - 1, for x from -1 to 1. Each rank has different points.
std::vector<Point> points_of(int rank) {
  std::vector<Point> points(kPoints);
  for (int i = 0; i < kPoints; ++i) {
    const float x = 2 * static_cast<float>(i) / kPoints - 1;
    const float noise = 0.4F * std::sin(static_cast<float>(1000 * (rank + 1) + 7 * i));
    points[static_cast<std::size_t>(i)] = {x, 3 * x - 1 + noise};
  }
  return points;
}

int fail(const infold::Error& error) {
  std::fprintf(stderr, "%s: %s\n", infold::code_name(error.code), error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  auto joined = infold::Communicator::join({.job = "line"});
  if (!joined) return fail(joined.error());
  infold::Communicator& communicator = *joined;
  const std::vector<Point> points = points_of(communicator.rank());

  float slope = 0, offset = 0;
  for (int step = 0; step < kSteps; ++step) {
    // These are the loss over this rank's points, and its derivatives by slope and offset.
    std::vector<float> mean = {0, 0, 0};
    for (const Point& point : points) {
      const float miss = slope * point.x + offset - point.y;
      mean[0] += miss * miss / kPoints;
      mean[1] += 2 * miss * point.x / kPoints;
      mean[2] += 2 * miss / kPoints;
    }
    // Computes the average over all ranks. The call returns at once, and wait() waits for the
    // network.
    infold::Handle sum = communicator.all_reduce(mean, {.reduction = infold::Reduction::average});
    if (const auto done = sum.wait(); !done) return fail(done.error());
    slope -= kRate * mean[1];
    offset -= kRate * mean[2];
    if (communicator.rank() == 0) {
      std::printf("%d %.6f %.4f %.4f\n", step, static_cast<double>(mean[0]),
                  static_cast<double>(slope), static_cast<double>(offset));
    }
  }
  return 0;
}
