package io.tidemark.sink;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A transactional sink of lines: what a subtask took between two checkpoints stands in one file,
 * which is committed by renaming it once the second checkpoint is complete, in the order of the
 * checkpoints.
 */
public final class CommittedLines extends ProcessFunction<String, Void>
    implements CheckpointedFunction, CheckpointListener {
  private static final long serialVersionUID = 1L;
  private final String folder;
  private transient List<String> open;
  private transient ListState<Long> written;
  private transient int subtask;

  public CommittedLines(Path folder) {
    this.folder = folder.toString();
  }

  /** All committed lines of each subtask, in order. */
  public static TreeMap<Integer, List<String>> read(Path folder) throws IOException {
    TreeMap<Integer, TreeMap<Long, Path>> files = new TreeMap<>();
    try (Stream<Path> paths = Files.list(folder)) {
      for (Path path : paths.collect(Collectors.toList())) {
        String[] parts = path.getFileName().toString().split("[-.]");
        if (parts[2].equals("committed")) {
          files
              .computeIfAbsent(Integer.valueOf(parts[0]), n -> new TreeMap<>())
              .put(Long.valueOf(parts[1]), path);
        }
      }
    }
    TreeMap<Integer, List<String>> lines = new TreeMap<>();
    for (Integer subtask : files.keySet()) {
      List<String> all = new ArrayList<>();
      for (Path path : files.get(subtask).values()) {
        all.addAll(Files.readAllLines(path, StandardCharsets.UTF_8));
      }
      lines.put(subtask, all);
    }
    return lines;
  }

  @Override
  public void processElement(String line, Context context, Collector<Void> out) {
    open.add(line);
  }

  @Override
  public void snapshotState(FunctionSnapshotContext context) throws Exception {
    long checkpoint = context.getCheckpointId();
    Path temporary = Path.of(folder, subtask + "-" + checkpoint + ".writing");
    Files.write(temporary, open, StandardCharsets.UTF_8);
    Files.move(temporary, file(checkpoint, "pending"), StandardCopyOption.REPLACE_EXISTING);
    open.clear();
    written.update(List.of(checkpoint));
  }

  @Override
  public void initializeState(FunctionInitializationContext context) throws Exception {
    open = new ArrayList<>();
    subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
    written =
        context
            .getOperatorStateStore()
            .getListState(new ListStateDescriptor<>("written", Types.LONG));
    long restored = 0;
    for (Long checkpoint : written.get()) {
      restored = Math.max(restored, checkpoint);
    }
    commit(restored);
    for (Pending pending : pending()) {
      Files.delete(pending.path);
    }
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) throws Exception {
    commit(checkpoint);
  }

  private void commit(long upTo) throws IOException {
    for (Pending pending : pending()) {
      if (pending.checkpoint <= upTo) {
        Files.move(pending.path, file(pending.checkpoint, "committed"));
      }
    }
  }

  private List<Pending> pending() throws IOException {
    try (Stream<Path> paths = Files.list(Path.of(folder))) {
      return paths
          .map(path -> new Pending(path, path.getFileName().toString().split("[-.]")))
          .filter(pending -> pending.mine && pending.open)
          .collect(Collectors.toList());
    }
  }

  private Path file(long checkpoint, String state) {
    return Path.of(folder, subtask + "-" + checkpoint + "." + state);
  }

  private final class Pending {
    final Path path;
    final boolean mine;
    final boolean open;
    final long checkpoint;

    Pending(Path path, String[] parts) {
      this.path = path;
      this.mine = Integer.parseInt(parts[0]) == subtask;
      this.checkpoint = Long.parseLong(parts[1]);
      this.open = parts[2].equals("pending");
    }
  }
}
