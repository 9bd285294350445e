import { spanTitle, zoneOf } from '../model/spans.ts';
import { numbers } from '../parts/numbers.ts';
import { usePart, useShown } from '../parts/shown.ts';
import { Plots } from './plots.tsx';

/** For a screen on the wall: four figures and one plot under health bar and alerts, without controls. */
export const Wall = () => {
  const { view, times, now, cameras, sound, mayScreenSleep } = useShown();
  const { answer } = usePart('activity');
  const flags = Object.values(answer?.counts_per_category ?? {}).reduce((sum, count) => sum + count, 0);
  const figures: readonly (readonly [name: string, count: number | undefined])[] = [
    ['Camera frames', answer?.total_events],
    ['AI detections', answer && flags],
    ['Reviewed frames', answer?.reviewed_total_events],
    ['Not sending now', cameras?.notSending.length],
  ];
  return (
    <>
      <p class="note wall-notes">
        {spanTitle(view.span, now, times)} {zoneOf(view.span, now, times)}
        {view.cameraId === undefined ? null : [' · ', <bdi key="id">{view.cameraId}</bdi>]}
        {mayScreenSleep ? ' · The screen may go to sleep: this browser does not keep it awake.' : null}
        {sound.isOn
          ? sound.isReady
            ? null
            : ' · The browser blocks the sound. Click once on the page, or press a key.'
          : ' · The sound is off. Turn it on in the page without ?wall.'}
      </p>
      <dl class="tiles">
        {figures.map(([name, count]) => (
          <div key={name} class="tile card">
            <dt>{name}</dt>
            <dd class="count">{count === undefined ? '–' : numbers.count(count)}</dd>
          </div>
        ))}
      </dl>
      <Plots facts={['counts_per_category']} />
    </>
  );
};
