#include "layers/losses/transducer.h"
#include "layers/losses/transducer_ctc.h"
#include "tests/layers/cuda/layer_parity.h"

namespace penstock::layers {
namespace {

/// The layer uploads its labels, and runs its operations over tiles, texts and frames in turn.
class CudaTransducerLayer : public LayerParity {
 protected:
  void compare(const Layer& layer, std::int64_t channels) {
    LayerParity::compare(layer, channels,
                         {.frames = {7, 1, 13, 5},
                          .labels = {1, 2, 2, 1, 3, 1, 4, 2, 4, 4, 1, 3},
                          .counts = {4, 0, 2, 6}});
  }
};

TEST_P(CudaTransducerLayer, TrainsLstmWithDurations) {
  compare(Transducer({.classes = 5,
                      .joint = 9,
                      .durations = {0, 1, 3},
                      .sigma = 0.05,
                      .nonlinearity = JointNonlinearity::tanh,
                      .prediction = {.embedding = 7, .layers = 2, .hidden = 11},
                      .tile_numbers = 500}),
          9);
}

TEST_P(CudaTransducerLayer, TrainsStatelessRnnT) {
  compare(Transducer({.classes = 5,
                      .joint = 9,
                      .nonlinearity = JointNonlinearity::tanh,
                      .prediction = {.kind = PredictionKind::stateless, .embedding = 8},
                      .tile_numbers = 500}),
          9);
}

// The losses of the transducer are followed by those of CTC, whose logits are the last columns.
TEST_P(CudaTransducerLayer, TrainsBesideCtc) {
  compare(TransducerCtc({.classes = 5,
                         .joint = 9,
                         .nonlinearity = JointNonlinearity::tanh,
                         .prediction = {.embedding = 7, .hidden = 11},
                         .tile_numbers = 500},
                        0.3),
          9 + 5);
}

PARITY_OF_ALL_TYPES(CudaTransducerLayer);

}  // namespace
}  // namespace penstock::layers
