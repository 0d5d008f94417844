#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// DualPipe (DeepSeek-AI 2024) cut in half: two chunks a rank, down the ranks and up again as zb_v.
/// While forwards last, each forward of one chunk stands beside a backward of the other, of another
/// micro-batch, so that messages of both travel while the rank computes. Weight gradients wait only
/// where ranks would be idle: at the start and at the end. Bubble
/// (p-1)(F+B-W)/2 where F = B = W, for m >= 2p; at most 2p+1 pairs of chunk and micro-batch in
/// flight on every rank (the order of actions is that of DeepSeek's dualpipev.py, with whole
/// backwards as an input gradient and a weight gradient).
Schedule dualpipe_v(int stages, int micro_batches);

}  // namespace penstock::partition
