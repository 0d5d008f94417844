#include "layers/ops/columns.h"

#include "layers/ops/elementwise.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaColumns : public Parity {};

// The columns begin and end at odd places, and fill words of eight in the last case.
TEST_P(CudaColumns, AreRoundedAsOnTheCpu) {
  struct Case {
    std::int64_t from, first_from, to, first_to, columns;
  };
  for (const Case& c : {Case{37, 9, 23, 5, 17}, Case{5, 0, 12, 7, 5}, Case{48, 16, 64, 8, 32}})
    for (const std::int64_t rows : kRows) {
      const Twin from = random(DType::f32, {rows, c.from}), to = random(dtype(), {rows, c.to});
      test::GuardedMemory memory(static_cast<std::size_t>(rows * c.to) * size_of(dtype()));
      const Tensor rounded{memory.data(), dtype(), {rows, c.to}};
      cpu_->run(*cpu_stream_, Cast{to.cpu, rounded});
      run(CastColumns{from.cpu, rounded, c.columns, c.first_from, c.first_to},
          CastColumns{from.cuda, to.cuda, c.columns, c.first_from, c.first_to});
      EXPECT_EQ(on_device(to.cuda), test::numbers(rounded)) << c.columns;
      const Twin back = twin(DType::f32, {rows, c.from}, test::numbers(from.cpu));
      run(CastColumns{rounded, back.cpu, c.columns, c.first_to, c.first_from},
          CastColumns{to.cuda, back.cuda, c.columns, c.first_to, c.first_from});
      expect_close(back, 0, "back");
    }
}

PARITY_OF_ALL_TYPES(CudaColumns);

}  // namespace
}  // namespace penstock::layers
