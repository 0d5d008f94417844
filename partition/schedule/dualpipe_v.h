#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// DualPipe (DeepSeek-AI 2024) cut in half: each rank holds two chunks, down the ranks and up again
/// as in zb_v(). While forwards last, each forward of one chunk is paired with a backward of the
/// other chunk and another micro-batch. So the messages of both travel while the rank computes.
/// Weight gradients are delayed only where ranks would be idle: at the start and at the end.
///
/// The bubble is (p-1)(F+B-W)/2 if F = B = W and m >= 2p. At most 2p+1 pairs of chunk and
/// micro-batch are in flight on every rank. The order of actions is that of DeepSeek's
/// dualpipev.py, with a whole backward as an input gradient and a weight gradient.
Schedule dualpipe_v(int stages, int micro_batches);

}  // namespace penstock::partition
