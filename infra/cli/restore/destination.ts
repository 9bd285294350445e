/** Where backed-up events are brought. */
export interface Destination {
  /** The same for the same one, without secrets. */
  readonly name: string;

  /**
   * Takes events, each the text of a CloudEvent. What it has already changes nothing.
   *
   * @param shards of a day that has no data there yet
   * @returns why some can never be recorded, in words
   * @throws {StorageTrouble | RecorderUnavailable} if it may help to try again
   */
  take(events: readonly string[], shards: number): Promise<readonly string[]>;

  /** Whether a day is there, with at least so many events, and what was found. */
  audit(day: string, events: number): Promise<{ readonly isRight: boolean; readonly text: string }>;
}
