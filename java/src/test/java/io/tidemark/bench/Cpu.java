package io.tidemark.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** The processor time that this process has used since this was made. */
final class Cpu {
  private final OperatingSystemMXBean system =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private long since = system.getProcessCpuTime();

  double seconds() {
    return (system.getProcessCpuTime() - since) / 1e9;
  }
}
