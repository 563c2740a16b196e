package io.tidemark.cluster;

import io.tidemark.workload.Shell;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes all room from the TaskManagers' temporary folders. Where a cluster could have no file
 * systems of its own for them, since mounting needs rights, nothing can be written below them
 * instead.
 */
final class FullDisk {
  private final List<Path> folders;
  private final boolean mounted;
  private final Map<Path, Long> sizes = new HashMap<>();

  FullDisk(FlinkCluster cluster) {
    folders = cluster.temporaryFolders();
    mounted = cluster.hasDisksOfItsOwn();
  }

  /** Leaves no room. */
  void fill() throws IOException {
    for (Path folder : folders) {
      if (mounted) {
        shrink(folder);
      } else {
        Files.move(folder, away(folder));
        Files.createFile(folder);
      }
    }
  }

  /** Gives it back. */
  void free() throws IOException {
    for (Path folder : folders) {
      if (sizes.containsKey(folder)) {
        resize(folder, sizes.remove(folder));
      } else if (Files.exists(away(folder))) {
        Files.delete(folder);
        Files.move(away(folder), folder);
      }
    }
  }

  private static Path away(Path folder) {
    return folder.resolveSibling(folder.getFileName() + ".away");
  }

  /** To what is used now; refused if that has grown meanwhile. */
  private void shrink(Path folder) throws IOException {
    FileStore store = Files.getFileStore(folder);
    sizes.put(folder, store.getTotalSpace());
    for (int attempt = 1; ; attempt++) {
      try {
        resize(folder, store.getTotalSpace() - store.getUnallocatedSpace());
        return;
      } catch (IOException e) {
        if (attempt == 100) {
          throw e;
        }
      }
    }
  }

  private static void resize(Path folder, long bytes) throws IOException {
    Shell.run(
        Map.of(),
        List.of("mount", "-o", "remount,size=" + Math.max(bytes, 4096), folder.toString()));
  }
}
