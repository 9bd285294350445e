import { instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { parseCameraEvent } from '../../src/http/event-message.ts';
import { openInput } from './input.ts';
import { type Item, itemsIn } from './items.ts';

/**
 * Looks at every event of an input as the service would, and sends nothing. What only the service knows, such as which days are closed, is not
 * looked at.
 *
 * @param say gets a line for every event that is wrong
 */
export const checkFile = async (
  name: string,
  stop: AbortSignal,
  say: (line: string) => void,
): Promise<{ readonly good: number; readonly wrong: number }> => {
  const input = await openInput(name, stop);
  const now = instantFromMilliseconds(Date.now());
  let [good, wrong] = [0, 0];
  for await (const item of itemsIn(name, input.chunks)) {
    const faults = faultsOf(item, now);
    if (faults.length === 0) good += 1;
    else {
      wrong += 1;
      say(`${name}:${item.line}${item.index === undefined ? '' : `[${item.index}]`} ${faults.join('; ')}`);
    }
  }
  stop.throwIfAborted();
  return { good, wrong };
};

const faultsOf = ({ text, fault }: Item, now: ReturnType<typeof instantFromMilliseconds>): readonly string[] => {
  if (fault !== undefined) return [fault];
  const parsed = parseCameraEvent(JSON.parse(text), now);
  return 'message' in parsed ? [] : parsed.faults.map(({ field, detail }) => `${field} ${detail}`.trim());
};
