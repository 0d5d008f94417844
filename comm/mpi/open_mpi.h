#pragma once

namespace penstock::comm {

/// Settings of Open MPI, to be made before MPI starts. What the environment sets already
/// (OMPI_MCA_…) stays; other libraries of MPI do not look.
///
/// Ranks compute while messages move: by default a long message leaves in three parts of 32 KiB at
/// every poll of its sender, who polls every millisecond or so. Ranks that mpirun started on one
/// machine exchange messages through shared memory alone, and listen on no network.
void suit_open_mpi();

}  // namespace penstock::comm
