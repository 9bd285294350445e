import { setTimeout as sleep } from 'node:timers/promises';

import { TableClient } from '@azure/data-tables';

import { type Azurite, startAzurite } from '../../../infra/local/azurite.ts';
import { Between } from '../../harness/between.ts';
import { percentile, timed } from '../measure.ts';
import { serve, type Served } from '../serve.ts';

const POINT_READS = 20;

/** Which instances to start. */
export interface FleetOptions {
  /** The path of a bundle. */
  readonly bundle: string;
  readonly instances: number;
  /** Round trip between an instance and the tables, added to what Azurite takes, in milliseconds. */
  readonly delayMs: number;
}

/** Instances of the app in processes of their own that share one Azurite, each behind a proxy that delays its requests. */
export class Fleet {
  readonly #azurite: Azurite;
  readonly #proxies: readonly Between[];
  readonly #apps: readonly Served[];

  private constructor(azurite: Azurite, proxies: readonly Between[], apps: readonly Served[]) {
    this.#azurite = azurite;
    this.#proxies = proxies;
    this.#apps = apps;
  }

  /** @throws {Error} with the output of an instance that does not start */
  static async start({ bundle, instances, delayMs }: FleetOptions): Promise<Fleet> {
    const azurite = await startAzurite();
    const proxies: Between[] = [];
    while (proxies.length < instances) proxies.push(await delayProxy(azurite.connectionString, delayMs));
    const starts = await Promise.allSettled(
      proxies.map(async ({ connectionString }) =>
        serve(bundle, { TABLES_CONNECTION_STRING: connectionString }, { runsSchedules: false }),
      ),
    );
    const apps = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const fleet = new Fleet(azurite, proxies, apps);
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed === undefined) return fleet;
    await fleet.kill();
    throw failed.reason;
  }

  /** The instances' addresses, without a slash at their ends. */
  get urls(): readonly string[] {
    return this.#apps.map(({ url }) => url);
  }

  /** How many requests of all instances have reached the tables so far. */
  get storageRequests(): number {
    return this.#proxies.reduce((sum, { carriedOut }) => sum + carriedOut.length, 0);
  }

  /** What one point read through a proxy takes, p50 in milliseconds: nothing that an instance does can take less. */
  async pointReadMs(): Promise<number> {
    const [proxy] = this.#proxies;
    if (proxy === undefined) throw new RangeError('there is no instance');
    const table = TableClient.fromConnectionString(proxy.connectionString, 'baseline', {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
    const took: number[] = [];
    while (took.length < POINT_READS) took.push(await timed(async () => table.getEntity('p', 'r')));
    return percentile(took, 0.5);
  }

  /** Ends all at once: what they still have to do does not disturb the next measurement. */
  async kill(): Promise<void> {
    await Promise.all(this.#apps.map(async (app) => app.kill()));
    await Promise.all(this.#proxies.map(async (proxy) => proxy.stop()));
    await this.#azurite.stop();
  }
}

/** Delays each request by half of the round trip on its way there, and by half on its way back. */
const delayProxy = async (connectionString: string, delayMs: number): Promise<Between> => {
  const proxy = await Between.start(connectionString);
  if (delayMs > 0) {
    proxy.rule = async (_, carryOut) => {
      await sleep(delayMs / 2);
      const answer = await carryOut();
      await sleep(delayMs / 2);
      return answer;
    };
  }
  return proxy;
};
