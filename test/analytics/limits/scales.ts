import type { TableServiceClientOptions } from '@azure/data-tables';

import { FENCE_KEY } from '../../../src/analytics/rows/keys.ts';
import { LIMITS } from '../table-limits.ts';

/** A transaction as it is sent. */
export interface Weight {
  readonly bytes: number;
  readonly operations: number;
  /** Whether it is the first of a stripe after the first one. */
  readonly opensStripe: boolean;
}

/** Weighs the transactions that the SDK sends. */
export class Scales {
  readonly weights: Weight[] = [];

  readonly options: TableServiceClientOptions = {
    additionalPolicies: [
      {
        position: 'perRetry',
        policy: {
          name: 'scales',
          sendRequest: async (request, next) => {
            const { url, body } = request;
            if (url.includes('$batch') && typeof body === 'string') {
              this.weights.push({
                bytes: Buffer.byteLength(body),
                operations: body.match(/^(?:POST|PUT|PATCH|MERGE|DELETE) /gm)?.length ?? 0,
                // The first stripe inserts the fence: its key is then not in a URL.
                opensStripe: body.includes(`RowKey='${FENCE_KEY}'`),
              });
            }
            return next(request);
          },
        },
      },
    ],
  };

  /** The transactions that Table Storage would refuse. */
  objections(): readonly string[] {
    return this.weights
      .filter(({ bytes, operations }) => bytes > LIMITS.transactionBytes || operations > LIMITS.transactionOperations)
      .map(({ bytes, operations }) => `${operations} operations in ${bytes} bytes`);
  }
}
