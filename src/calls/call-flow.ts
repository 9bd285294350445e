import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallEvent, CallResult } from './call-event.ts';
import type { CallId } from './call-id.ts';
import { callFields, errorKind, failureFields } from './call-log.ts';
import * as record from './call-record.ts';
import { LineWatch } from './line-watch.ts';
import { longestSpeakingMs, spokenMessage } from './message.ts';
import { LONGEST_RINGING_MS, type PhoneLine, PhoneLineError } from './phone-line.ts';
import type { CallLedger, StepResult } from './store/call-ledger.ts';

/** What the flow of calls needs. */
export interface CallFlowParts {
  readonly line: PhoneLine;
  readonly ledger: CallLedger;
  /** Spoken in the message. */
  readonly serviceName: string;
  /** For what happens outside any request. */
  readonly log: Log;
}

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
// How long after an unclear answer to a request to speak its `play started` may arrive.
const PLAY_STARTED_WITHIN_MS = 2_000;

/**
 * From a call's events to requests to the line: speak when somebody answers; hang up when the message is over or cannot be spoken.
 * Each step is claimed in the call's record first. So it is done once, however often, in whatever order and on whichever instance
 * the events arrive.
 */
export class CallFlow {
  readonly #line: PhoneLine;
  readonly #ledger: CallLedger;
  readonly #serviceName: string;
  readonly #watch: LineWatch;

  constructor({ line, ledger, serviceName, log }: CallFlowParts) {
    this.#line = line;
    this.#ledger = ledger;
    this.#serviceName = serviceName;
    this.#watch = new LineWatch((callId, alertType) =>
      this.#endIfOverdue(callId, alertType, log).catch((error: unknown) => {
        log.error('unexpected error', { call_id: callId, kind: errorKind(error) });
      }),
    );
  }

  /** Records a call that the line has just accepted. */
  async placed(callId: CallId, alertType: AlertType, details: record.CallDetails, log: Log): Promise<void> {
    const taken = await this.#ledger.step(callId, (known) => record.placed(known, details, Date.now()), log);
    // In another state, the call's events came first and have set a timer or ended the call.
    if (taken.record?.state === 'establishing') this.#watch.checkAfter(ESTABLISHING_MS, callId, alertType);
  }

  /** Does what an event requires. Ends within about a minute, whatever the line and the table do. */
  async handle({ callId, kind, context, result }: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    const call: Call = { callId, alertType, details: { alertType: alertType.name, ...context }, log };
    switch (kind) {
      case 'connected':
        await this.#speak(call);
        return;
      case 'play started':
        await this.#ledger.step(callId, (known) => record.playConfirmed(known, Date.now()), log);
        return;
      case 'play completed':
        await this.#end(call, { endsAs: 'hung_up' });
        return;
      case 'play canceled':
        await this.#end(call, { ...result, endsAs: 'hung_up', reason: 'the message was cancelled' });
        return;
      case 'play failed': {
        const reason = result.reason ?? 'the message failed';
        const ended = await this.#end(call, { ...result, endsAs: 'failed', reason });
        if (ended !== undefined) log.error('message not played', callFields(call, ended));
        return;
      }
      case 'disconnected':
        await this.#noteEnd(call, result, record.disconnected);
        return;
      case 'create failed':
        await this.#noteEnd(call, result, record.notEstablished);
    }
  }

  async #speak(call: Call): Promise<void> {
    const taken = await this.#claim(call, (known) => record.connected(known, call.details, Date.now()));
    if (taken.action === 'nothing') return;
    const text = spokenMessage(this.#serviceName, call.alertType);
    this.#watch.checkAfter(longestSpeakingMs(text), call.callId, call.alertType);
    try {
      await this.#line.speak(call.callId, text, contextOf(taken.record));
    } catch (error) {
      if (await this.#startedAfterAll(call, error)) return;
      call.log.error('message not played', callFields(call, taken.record, failureFields(error)));
      await this.#end(call, { endsAs: 'failed', ...endingOf(error) });
      return;
    }
    call.log.info('message playing', callFields(call, taken.record));
    await this.#ledger.step(call.callId, (known) => record.playConfirmed(known, Date.now()), call.log);
  }

  /** Whether the message is being spoken although the answer was lost: `play started` has come, to this or another instance. */
  async #startedAfterAll(call: Call, error: unknown): Promise<boolean> {
    if (!(error instanceof PhoneLineError) || error.failure !== 'unanswered') return false;
    const end = performance.now() + PLAY_STARTED_WITHIN_MS;
    for (;;) {
      const { record: known } = await this.#ledger.read(call.callId, call.log);
      if (known?.state !== 'playing') return known !== undefined;
      if (known.playConfirmedAt !== undefined) {
        call.log.warn('message playing', callFields(call, known, { reason: 'started without an answer' }));
        return true;
      }
      if (performance.now() >= end) return false;
      await sleep(POLL_MS);
    }
  }

  /** Hangs up. Answers the record as it was claimed; undefined where the call was hung up already. */
  async #end(
    call: Call,
    ending: record.Ending,
    decide = (known?: record.CallRecord) => record.over(known, call.details, ending, Date.now()),
  ): Promise<record.CallRecord | undefined> {
    const taken = await this.#claim(call, decide);
    if (taken.action === 'nothing') return undefined;
    try {
      await this.#line.hangUp(call.callId);
    } catch (error) {
      call.log.error('hang-up failed', callFields(call, taken.record, failureFields(error)));
      this.#watch.checkAfter(record.CLAIM_LEASE_MS, call.callId, call.alertType);
      return taken.record;
    }
    this.#watch.forget(call.callId);
    const done = await this.#ledger.step(call.callId, (known) => record.hungUp(known, Date.now()), call.log);
    call.log.info('call hung up', callFields(call, done.record ?? taken.record));
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
    this.#watch.forget(call.callId);
    const fields = callFields(call, known, { code: result.code, sub_code: result.subCode });
    if (action === 'failed') call.log.warn('call failed', fields);
    else if (action === 'ended') call.log.info('call disconnected', fields);
  }

  /** Hangs up a call whose next event was lost, or went to an instance that has died. */
  async #endIfOverdue(callId: CallId, alertType: AlertType, log: Log): Promise<void> {
    const { record: known, shared } = await this.#ledger.read(callId, log);
    const timeouts = {
      establishingMs: ESTABLISHING_MS,
      playingMs: longestSpeakingMs(spokenMessage(this.#serviceName, alertType)),
    };
    const due = known === undefined ? undefined : record.overdueAt(known, timeouts);
    if (known === undefined || due === undefined) {
      this.#watch.forget(callId);
      return;
    }
    // While the table cannot be read, another instance may be speaking to a callee who is unanswered here.
    if (due > Date.now() || (!shared && known.state === 'establishing')) {
      this.#watch.checkAfter(Math.max(due - Date.now(), record.CLAIM_LEASE_MS), callId, alertType);
      return;
    }
    const call: Call = { callId, alertType, details: known, log };
    log.warn('call overdue', callFields(call, known));
    await this.#end(call, { endsAs: 'failed' }, (latest) => record.overdue(latest, known, timeouts, Date.now()));
  }
}

const contextOf = (known: record.CallRecord | undefined) =>
  known?.requestId === undefined || known.recipient === undefined
    ? undefined
    : { requestId: known.requestId, recipient: known.recipient };

const endingOf = (error: unknown) =>
  error instanceof PhoneLineError
    ? { code: error.code, subCode: error.subCode, reason: `message not played: ${error.reason}` }
    : { reason: 'message not played' };
