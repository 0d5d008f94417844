# Folders of an installation, below its prefix. What penstock ships lies below one folder for each version:
#
#   bin/penstock
#   share/penstock/VERSION/configs/    models, recipes, clusters and devices
#   share/penstock/VERSION/tools/      scripts that make manifests
#   share/doc/penstock/                licences, changelog and pages
#
# The program finds configs/ from its own folder (configs/config_folder.h), so a prefix may be moved.
include(GNUInstallDirs)
set(PENSTOCK_SHARE ${CMAKE_INSTALL_DATADIR}/penstock/${PROJECT_VERSION})
file(RELATIVE_PATH PENSTOCK_SHIPPED_CONFIGS
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${PENSTOCK_SHARE}/configs)
