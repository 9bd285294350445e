import { type CallRecord, wasTaken } from './call-record.ts';

/** How far a call has come. An end that was reported before anybody spoke or hung up may still turn out wrong. */
const advance = (record: CallRecord): number => {
  if (record.state === 'ended') return wasTaken(record) ? 4 : 1;
  return { establishing: 0, playing: 2, hanging_up: 3 }[record.state];
};

/**
 * The most advanced of two records of one call, with what either knows besides. What is remembered from an outage of the table may be ahead
 * of the table, or may know an event that the table does not.
 *
 * @param one wins where both are as far: the table's
 */
export const mostAdvanced = (one: CallRecord | undefined, other: CallRecord | undefined): CallRecord | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  const [ahead, behind] = advance(other) > advance(one) ? [other, one] : [one, other];
  const playingAt = ahead.playingAt ?? behind.playingAt;
  const known: CallRecord = {
    ...ahead,
    recipient: ahead.recipient ?? behind.recipient,
    attempt: ahead.attempt ?? behind.attempt,
    placedAt: ahead.placedAt ?? behind.placedAt,
    playingAt,
    playAcceptedAt: ahead.playAcceptedAt ?? behind.playAcceptedAt,
    playStartedAt: ahead.playStartedAt ?? behind.playStartedAt,
    playCompletedAt: ahead.playCompletedAt ?? behind.playCompletedAt,
    playFailedAt: ahead.playFailedAt ?? behind.playFailedAt,
    gapAt: ahead.gapAt ?? behind.gapAt,
  };
  const { disconnectedAt } = behind;
  // An end from before somebody answered was not one.
  if (ahead.disconnectedAt !== undefined || disconnectedAt === undefined || disconnectedAt < (playingAt ?? 0))
    return known;
  const endedAt = ahead.endedAt ?? behind.endedAt;
  return {
    ...known,
    state: 'ended',
    disconnectedAt,
    endedAt,
    code: ahead.code ?? behind.code,
    subCode: ahead.subCode ?? behind.subCode,
  };
};
