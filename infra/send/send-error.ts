/** Sending had to stop before the end of the input; the same command goes on from there. */
export class SendStopped extends Error {
  override readonly name = 'SendStopped';
}
