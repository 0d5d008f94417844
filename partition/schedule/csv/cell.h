#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The letters of a cell, `[stage][letters][micro-batch]`.
enum class CellKind { F, B, I, W, BW, SEND_F, RECV_F, SEND_B, RECV_B };

/// One action as a cell says it: whether B is one gradient or both depends on the whole file.
struct Cell {
  int chunk = 0;  // "stage" in a file
  CellKind kind = CellKind::F;
  int micro_batch = 0;
  int column = 0;  // in its row, from 1
};

/// "3F12", "" (idle: nothing), or "(0F7;7B3)OVERLAP_F_B", which are its parts in order. ConfigError
/// for anything else.
std::vector<Cell> parse_cell(std::string_view text);

/// "3F12"; with F, B (input gradient), W and BW (both). Only for actions that compute.
std::string cell_text(const Action& action);

}  // namespace penstock::partition
