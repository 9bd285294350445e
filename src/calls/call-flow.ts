import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../log.ts';
import { type AlertType, findAlertType } from './alert-types.ts';
import type { CallEvent, CallResult } from './call-event.ts';
import type { CallId } from './call-id.ts';
import { callFields, failureFields } from './call-log.ts';
import * as record from './call-record.ts';
import { longestSpeakingMs, spokenMessage } from './message.ts';
import { LONGEST_REQUEST_MS, LONGEST_RINGING_MS, type PhoneLine, PhoneLineError } from './phone-line.ts';
import type { CallLedger, StepResult } from './store/call-ledger.ts';

/** Whoever wants to know what becomes of calls. No method throws. */
export interface CallOwners {
  /** Somebody answered. `overAt`: when the message should be over, in milliseconds since 1970. */
  answered(callId: CallId, known: record.CallRecord, overAt: number, log: Log): Promise<void>;
  /** The call has ended, or more has become known of one that had. */
  ended(callId: CallId, known: record.CallRecord, log: Log): Promise<void>;
  /** The line could not be hung up: it is to be looked after at that time, in milliseconds since 1970. */
  watch(callId: CallId, at: number): void;
}

/** What the flow of calls needs. */
export interface CallFlowParts {
  readonly line: PhoneLine;
  readonly ledger: CallLedger;
  readonly owners: CallOwners;
  /** Spoken in the message. */
  readonly serviceName: string;
}

/** What is known of a call that is looked after. */
export type LookedAfter =
  /** Its record as it is then, and when it is overdue; undefined where it has ended. */
  | { readonly known: record.CallRecord; readonly overdueAt: number | undefined }
  | 'no record'
  /** The table could not be read, and this process remembers nothing: another one may be speaking. */
  | 'unreadable';

/** The call that is being handled. */
interface Call {
  readonly callId: CallId;
  readonly alertType: AlertType;
  readonly details: record.CallDetails;
  readonly log: Log;
}

// The last event needs time to arrive.
const ESTABLISHING_MS = LONGEST_RINGING_MS + 10_000;
const POLL_MS = 250;
// How long after an unclear answer to a request to speak its `play started` may take to be in the table: as long as a step in the ledger
// takes at most, with one missed answer of the table.
const PLAY_STARTED_WITHIN_MS = 4_500;
// How long a line stays open without a message because the table may tell that another instance is speaking.
const ALONE_MS = 8_000;
const ALONE_POLL_MS = 1_000;
// By then another instance that took over a claim to speak, unseen without the table, has come to its end.
const UNSHARED_MS = record.CLAIM_LEASE_MS + LONGEST_REQUEST_MS;

/**
 * From a call's events to requests to the line: speak when somebody answers; hang up when the message is over or cannot be spoken.
 * Each step is claimed in the call's record first. So it is done once, however often, in whatever order and on whichever instance
 * the events arrive.
 */
export class CallFlow {
  readonly #line: PhoneLine;
  readonly #ledger: CallLedger;
  readonly #owners: CallOwners;
  readonly #serviceName: string;

  constructor({ line, ledger, owners, serviceName }: CallFlowParts) {
    this.#line = line;
    this.#ledger = ledger;
    this.#owners = owners;
    this.#serviceName = serviceName;
  }

  /** Does what an event requires. Ends within about a minute, whatever the line and the table do. */
  async handle({ callId, kind, attempt, result }: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    const call: Call = { callId, alertType, details: { alertType: alertType.name, attempt }, log };
    switch (kind) {
      case 'connected':
        await this.#speak(call);
        return;
      case 'play started':
        await this.#noteStart(call);
        return;
      case 'play completed':
        await this.#end(call, { completed: true });
        return;
      // The line cancels the message where the callee hangs up.
      case 'play canceled':
        await this.#end(call, {});
        return;
      case 'play failed': {
        // What its codes would mean for reaching a person they do not mean here: somebody has answered.
        const { code, subCode, reason = 'the message failed' } = result;
        const taken = await this.#end(call, { code, subCode, reason, playFailed: true });
        if (taken !== undefined) log.error('message not played', callFields(call, taken));
        return;
      }
      case 'disconnected':
        await this.#noteEnd(call, result, record.disconnected);
        return;
      case 'create failed':
        await this.#noteEnd(call, result, record.notEstablished);
    }
  }

  /** Hangs up a call whose next event was lost, or went to an instance that has died. */
  async lookAfter(callId: CallId, log: Log): Promise<LookedAfter> {
    const { record: known, shared } = await this.#ledger.read(callId, log);
    const alertType = known && findAlertType(known.alertType);
    if (known === undefined || alertType === undefined) return shared ? 'no record' : 'unreadable';
    const timeouts = this.#timeouts(alertType);
    const overdueAt = record.overdueAt(known, timeouts);
    if (overdueAt === undefined || overdueAt > Date.now()) return { known, overdueAt };
    // While the table cannot be read, another instance may be speaking: to a callee who is unanswered here, or later than it is known here.
    if (!shared && (known.state === 'establishing' || overdueAt + UNSHARED_MS > Date.now())) {
      return { known, overdueAt: overdueAt + UNSHARED_MS };
    }
    const call: Call = { callId, alertType, details: known, log };
    log.warn('call overdue', callFields(call, known));
    await this.#end(call, {}, (latest) => record.overdue(latest, known, timeouts, Date.now()));
    const after = await this.#ledger.read(callId, log);
    const latest = after.record ?? known;
    return { known: latest, overdueAt: record.overdueAt(latest, timeouts) };
  }

  async #speak(call: Call): Promise<void> {
    const taken = await this.#claim(call, (known) => record.connected(known, call.details, Date.now()));
    if (taken.action === 'nothing' || taken.record === undefined) return;
    // At the same time: nothing that the owner does may delay the message.
    const owner = this.#owners.answered(
      call.callId,
      taken.record,
      Date.now() + this.#timeouts(call.alertType).playingMs,
      call.log,
    );
    await this.#speakTo(call, taken.record, taken.shared);
    await owner;
  }

  async #speakTo(call: Call, known: record.CallRecord, shared: boolean): Promise<void> {
    try {
      await this.#line.speak(call.callId, spokenMessage(this.#serviceName, call.alertType), known.attempt);
    } catch (error) {
      if (await this.#mayBeSpoken(call, known, error)) return;
      call.log.error('message not played', callFields(call, known, failureFields(error)));
      if (!shared) await this.#untilTableIsRead(call);
      const ending = { playFailed: true, ...endingOf(error) } as const;
      await this.#end(call, ending, (latest) => record.notSpoken(latest, known, ending, Date.now()));
      return;
    }
    call.log.info('message playing', callFields(call, known));
    await this.#ledger.step(call.callId, (latest) => record.playAccepted(latest, Date.now()), call.log);
  }

  /**
   * Whether the message is being spoken although the answer was lost: `play started` has come, to this or another instance. Without the table
   * nobody can tell: the line is then left to its end, or to whoever looks after it.
   */
  async #mayBeSpoken(call: Call, claimed: record.CallRecord, error: unknown): Promise<boolean> {
    if (!(error instanceof PhoneLineError) || error.failure !== 'unanswered') return false;
    const end = performance.now() + PLAY_STARTED_WITHIN_MS;
    for (;;) {
      const { record: known, shared } = await this.#ledger.read(call.callId, call.log);
      if (known !== undefined && (known.state !== 'playing' || record.isSpoken(known))) {
        call.log.warn('message playing', callFields(call, known, { reason: 'started without an answer' }));
        return true;
      }
      if (performance.now() >= end) {
        if (!shared)
          call.log.warn('message playing', callFields(call, claimed, { reason: 'perhaps, without an answer' }));
        return !shared;
      }
      await sleep(POLL_MS);
    }
  }

  /** Waits for the table, for some seconds: only the table tells whether another instance has claimed to speak. */
  async #untilTableIsRead(call: Call): Promise<void> {
    const end = performance.now() + ALONE_MS;
    while (!(await this.#ledger.read(call.callId, call.log)).shared && performance.now() < end) {
      await sleep(ALONE_POLL_MS);
    }
  }

  async #noteStart(call: Call): Promise<void> {
    const { record: known } = await this.#ledger.step(
      call.callId,
      (latest) => record.playStarted(latest, Date.now()),
      call.log,
    );
    if (known?.state === 'ended') await this.#owners.ended(call.callId, known, call.log);
  }

  /** Hangs up. Answers the record as it was claimed; undefined where the call was hung up already. */
  async #end(
    call: Call,
    ending: record.Ending,
    decide = (known?: record.CallRecord) => record.over(known, call.details, ending, Date.now()),
  ): Promise<record.CallRecord | undefined> {
    const taken = await this.#claim(call, decide);
    if (taken.action === 'nothing') {
      if (taken.record?.state === 'ended') await this.#owners.ended(call.callId, taken.record, call.log);
      return undefined;
    }
    try {
      await this.#line.hangUp(call.callId);
    } catch (error) {
      // The claim runs out, and whoever looks after the line then tries again. This process does too: of a call whose notification was only in
      // the memory of another one, nothing is due in the table.
      call.log.error('hang-up failed', callFields(call, taken.record, failureFields(error)));
      this.#owners.watch(call.callId, Date.now() + record.CLAIM_LEASE_MS);
      return taken.record;
    }
    const done = await this.#ledger.step(call.callId, (known) => record.hungUp(known, Date.now()), call.log);
    const known = done.record ?? taken.record;
    call.log.info('call hung up', callFields(call, known));
    if (known !== undefined) await this.#owners.ended(call.callId, known, call.log);
    return taken.record;
  }

  /** Takes a step that only one instance may take. Waits while another instance is at it, and takes over if that one dies. */
  async #claim(
    call: Call,
    decide: (known: record.CallRecord | undefined) => record.Step<record.Claim>,
  ): Promise<StepResult<record.Claim>> {
    for (;;) {
      const taken = await this.#ledger.step(call.callId, decide, call.log);
      if (taken.action !== 'wait') return taken;
      await sleep(POLL_MS);
    }
  }

  async #noteEnd(call: Call, result: CallResult, decide: record.EndStep): Promise<void> {
    const step = (known?: record.CallRecord) => decide(known, call.details, result, Date.now());
    const { action, record: known } = await this.#ledger.step(call.callId, step, call.log);
    const codes = { code: result.code, sub_code: result.subCode };
    if (action === 'ended') call.log.info('call disconnected', callFields(call, known, codes));
    // A repeat too: the instance that got the first one may have died before it told anybody.
    if (known?.state === 'ended') await this.#owners.ended(call.callId, known, call.log);
  }

  #timeouts(alertType: AlertType): record.CallTimeouts {
    const playingMs = longestSpeakingMs(spokenMessage(this.#serviceName, alertType));
    return { establishingMs: ESTABLISHING_MS, playingMs };
  }
}

const endingOf = (error: unknown) =>
  error instanceof PhoneLineError
    ? { code: error.code, subCode: error.subCode, reason: `message not played: ${error.reason}` }
    : { reason: 'message not played' };
