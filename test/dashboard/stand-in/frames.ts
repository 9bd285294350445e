/** A camera frame as the stand-in keeps it: the data of a `CameraEvent.Changed`. */
export interface Frame {
  readonly event_id: string;
  readonly camera_id: string;
  /** ISO 8601, UTC. */
  readonly ts_utc: string;
  readonly detections: Readonly<Record<string, number>>;
  readonly reviewed: boolean;
  readonly annotations: Readonly<Record<string, number>>;
}

/** Categories that are always there. */
const ALWAYS = ['fire', 'smoke', 'structure'];

const added = (maps: readonly Readonly<Record<string, number>>[]): Record<string, number> => {
  const sum = new Map(ALWAYS.map((category) => [category, 0]));
  for (const map of maps) {
    for (const [category, count] of Object.entries(map)) sum.set(category, (sum.get(category) ?? 0) + count);
  }
  return Object.fromEntries([...sum].sort(([a], [b]) => (a < b ? -1 : 1)));
};

/** Frames → the counts that the endpoints answer, by the rules of the service. */
export const countsOf = (frames: readonly Frame[]) => {
  const ones = (annotations: Frame['annotations']): Record<string, number> =>
    Object.fromEntries(Object.entries(annotations).map(([category, count]) => [category, count > 0 ? 1 : 0]));
  const annotated = ({ annotations }: Frame): boolean => Object.values(annotations).some((count) => count > 0);
  const reviewed = frames.filter((frame) => frame.reviewed);
  // A category that any map has is in all three.
  const seen = Object.fromEntries(
    frames.flatMap(({ detections, annotations }) =>
      [...Object.keys(detections), ...Object.keys(annotations)].map((category) => [category, 0]),
    ),
  );
  return {
    total_events: frames.length,
    counts_per_category: added([seen, ...frames.map(({ detections }) => detections)]),
    reviewed_total_events: reviewed.length,
    reviewed_counts_per_category: added([seen, ...reviewed.map(({ annotations }) => ones(annotations))]),
    annotated_total_events: frames.filter(annotated).length,
    annotated_counts_per_category: added([seen, ...frames.map(({ annotations }) => annotations)]),
  };
};

/** The distinct cameras of some frames, sorted. */
export const camerasOf = (frames: readonly Frame[]): readonly string[] =>
  [...new Set(frames.map((frame) => frame.camera_id))].sort();
