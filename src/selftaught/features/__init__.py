"""From image files and texts to rows of numbers.

Each extractor is a scikit-learn transformer: ``fit`` where there is something to learn, ``transform`` from paths,
arrays or texts to one row each. Rows are kept on disk where a ``cache`` folder is named.
"""

from .._download import FetchError as FetchError
from .backbone import Backbone as Backbone
from .extractor import Extracted as Extracted
from .extractor import Unreadable as Unreadable
from .extractor import UnreadableItems as UnreadableItems
from .image_input import CLIP as CLIP
from .image_input import IMAGENET as IMAGENET
from .image_input import PLUS_MINUS_ONE as PLUS_MINUS_ONE
from .image_input import ImageInput as ImageInput
from .mobilenet import MobileNetV2Features as MobileNetV2Features
from .text_input import TextInput as TextInput
from .vgg19 import VGG19Features as VGG19Features
