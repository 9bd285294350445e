import type { Log } from '../../log.ts';
import type { AlertTypeName } from '../alert-types.ts';
import type { CallContext } from '../call-context.ts';
import type { CallId } from '../call-id.ts';
import { requestRowAddress } from './call-rows.ts';
import { type CallsTable, CallsTableUnavailable, type RowValues } from './calls-table.ts';
import type { PhoneLineError } from '../phone-line.ts';

/** The record of one request to place a call. */
export interface CallRequest {
  /** The line accepted the call. What happens to it from here is in the call's own record. */
  placed(callId: CallId): Promise<void>;
  failed(error: PhoneLineError): Promise<void>;
}

/**
 * Records of requests to place a call, written before the line has given the call an id. If the process dies in between, the row stays
 * `requested`. A record that cannot be written is logged, and never delays or stops a call.
 */
export class CallRequests {
  readonly #table: CallsTable;

  constructor(table: CallsTable) {
    this.#table = table;
  }

  /** Starts a record. Does not wait until it is written. */
  begin({ requestId, recipient }: CallContext, alertType: AlertTypeName, log: Log): CallRequest {
    const address = requestRowAddress(requestId);
    const asked = { alertType, recipient, requestedAt: new Date() };
    const write = async (values: RowValues, etag: string | undefined): Promise<string | undefined> => {
      try {
        return await this.#table.write(address, values, etag);
      } catch (error) {
        if (!(error instanceof CallsTableUnavailable)) throw error;
        log.warn('call request not recorded', { request_id: requestId, kind: error.kind });
        return undefined;
      }
    };
    const begun = write({ ...asked, state: 'requested' }, undefined);
    const finish = async (values: RowValues): Promise<void> => {
      const etag = await begun;
      if (etag !== undefined) await write({ ...asked, ...values }, etag);
    };
    return {
      placed: (callId) => finish({ state: 'placed', callId, placedAt: new Date() }),
      failed: ({ code, subCode, reason }) => finish({ state: 'failed', endedAt: new Date(), code, subCode, reason }),
    };
  }
}
