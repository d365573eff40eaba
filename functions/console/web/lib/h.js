// Module h joins Preact, its hooks, signals and htm for the other modules.
import { h, Fragment } from 'preact';
import htm from 'htm';

export { render } from 'preact';
export { useEffect, useLayoutEffect, useRef, useState, useMemo } from 'preact/hooks';
export { signal, computed, batch, effect, useSignal } from '@preact/signals';
export { Fragment };
export const html = htm.bind(h);
