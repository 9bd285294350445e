/** The command line, a file or the key cannot be used as they are. The message is for the person who runs it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Sending had to stop before the end of the input; the same command goes on from there. */
export class SendStopped extends Error {
  override readonly name = 'SendStopped';
}
