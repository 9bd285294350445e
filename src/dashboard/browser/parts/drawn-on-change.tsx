import { Component, type ComponentChildren, type FunctionComponent } from 'preact';

/**
 * A part of the page that is drawn anew only where a property differs: the state changes several times a second, and a list of a
 * thousand rows only rarely. A memoized element must not do this work: it keeps the tree that it was drawn from, that one the tree
 * before it, and so on until the tab is closed.
 */
export const drawnOnChange = <Properties extends object>(Part: FunctionComponent<Properties>) =>
  class extends Component<Properties> {
    override shouldComponentUpdate(next: Readonly<Properties>): boolean {
      const [before, after] = [new Map(Object.entries(this.props)), new Map(Object.entries(next))];
      return before.size !== after.size || [...after].some(([name, value]) => before.get(name) !== value);
    }

    override render(): ComponentChildren {
      return <Part {...this.props} />;
    }
  };
