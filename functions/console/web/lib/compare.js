// Module compare finds what two persons changed in the same thing. It uses neither the page nor the network.

/** textOf writes a value as the text that a comparison shows. */
export const textOf = (value) => (value === undefined || value === null || value === '' ? '–' : typeof value === 'string' ? value : JSON.stringify(value, null, 1));

/** differing lists the fields in which what was shown, what is stored now and what one wants to store differ. Each is an object of
 * values by title. */
export function differing(shown, theirs, mine) {
  const titles = [...new Set([shown, theirs, mine].flatMap(Object.keys))];
  return titles.map((title) => ({ title, shown: textOf(shown[title]), theirs: textOf(theirs[title]), mine: textOf(mine[title]) }))
    .filter((r) => r.shown !== r.theirs || r.shown !== r.mine);
}

/** touched reports whether another person changed something that the editor shows. */
export const touched = (shown, theirs) => differing(shown, theirs, shown).length > 0;
