package io.tidemark;

import org.apache.flink.runtime.execution.SuppressRestartsException;

/** What the core failed with; the message says what, where, and what can be done. */
public final class TidemarkException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String code;
  private final boolean retryable;

  public TidemarkException(String code, String message, boolean retryable) {
    this(code, message, retryable, null);
  }

  private TidemarkException(String code, String message, boolean retryable, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.retryable = retryable;
  }

  /**
   * The one place where an error becomes what Flink understands: what a restart from the last
   * checkpoint cannot help suppresses restarts. The library calls this by its name.
   */
  static RuntimeException of(String code, String message, boolean retryable) {
    return of(code, message, retryable, null);
  }

  static RuntimeException of(String code, String message, boolean retryable, Throwable cause) {
    TidemarkException exception = new TidemarkException(code, message, retryable, cause);
    return retryable ? exception : new SuppressRestartsException(exception);
  }

  /** Number of the error, {@code TM-1001} and so on; docs/operations.md lists them. */
  public String code() {
    return code;
  }

  /** Whether a restart from the last checkpoint can help. */
  public boolean isRetryable() {
    return retryable;
  }
}
