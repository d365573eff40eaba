// Module qr draws a text of ASCII as a QR code (ISO/IEC 18004), which a phone reads from the screen.
import { correction, generate, mode } from '../vendor/lean-qr.mjs';

const margin = 4; // squares around the code, which readers need

/** drawn returns the size of a square picture of the text, and its dark squares as the path of an SVG. */
export function drawn(text) {
  const code = generate(mode.ascii(text), { minCorrectionLevel: correction.M });
  let path = '';
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) path += `M${x + margin} ${y + margin}h1v1h-1z`;
  }
  return { size: code.size + 2 * margin, path };
}
